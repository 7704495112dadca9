// Arrays of jobs: how their indices are written, and what each job has of it.

#include "model/job_array.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace cleave {
namespace {

using Indices = std::vector<std::int64_t>;

AskedArray array(std::string_view text) {
  const auto read = parse_array(text);
  EXPECT_TRUE(read) << text << ": " << read.error().text();
  return read.value_or(AskedArray{});
}

TEST(JobArray, IndicesAreRangesStepsAndLists) {
  Indices hundred(200);
  std::iota(hundred.begin(), hundred.end(), 1);
  EXPECT_EQ(array("1-200%20"), (AskedArray{hundred, 20}));
  EXPECT_EQ(array("1-10:2,15"), (AskedArray{{1, 3, 5, 7, 9, 15}, 0}));
  EXPECT_EQ(array("7"), (AskedArray{{7}, 0}));
  EXPECT_EQ(array("9,3-4,0%1"), (AskedArray{{0, 3, 4, 9}, 1})) << "they ascend";
  EXPECT_EQ(array("0-9999").indices.size(), 10'000U);
  EXPECT_EQ(array("999999999").indices, (Indices{999'999'999}));
}

TEST(JobArray, WhatIsNoneIsRefusedWithHowItIsWritten) {
  for (const char* text :
       {"",       "a",     "1-",          "-3",      "3-1",
        "1-10:0", "4:2",   "1,,2",        "1-3,2",   "1%0",
        "1%",     "1%2%3", "%5",          "0-10000", "1000000000",
        "1 -3",   "+1",    "1-999999999", "1.5",     "1-2:99999999999999999999"}) {
    const auto read = parse_array(text);
    ASSERT_FALSE(read) << text;
    EXPECT_FALSE(read.error().message.empty()) << text;
    EXPECT_NE(read.error().remedy.find("1-200"), std::string::npos) << text;
  }
  EXPECT_TRUE(wrong_array("3-1"));
  EXPECT_FALSE(wrong_array("1-3"));
  EXPECT_FALSE(wrong_array("")) << "it is none";
}

TEST(JobArray, TheIndexStandsInTheWordsOfTheCommand) {
  const std::vector<std::string> words = {"./train", "{index}", "--out=run-{index}-{index}", "{x}"};
  EXPECT_EQ(with_index(words, 12),
            (std::vector<std::string>{"./train", "12", "--out=run-12-12", "{x}"}));
}

TEST(JobArray, ATaskIsNamedByItsArrayAndIndex) {
  const auto one = parse_tasks("12_7");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->job, 12);
  EXPECT_EQ(one->indices, (Indices{7}));
  EXPECT_EQ(parse_tasks("12_1-3,9")->indices, (Indices{1, 2, 3, 9}));
  for (const char* word : {"12", "_7", "12_", "run_7", "12_x", "0_1", "12-40", "12_7_8"})
    EXPECT_FALSE(parse_tasks(word)) << word;
  EXPECT_EQ(in_short({.job = 12, .last = 40, .index = 7, .tasks = 29, .at_once = 0}), "12_7");
}

TEST(JobArray, IndicesAreWrittenAsTheyAreRead) {
  EXPECT_EQ(index_list({}), "");
  EXPECT_EQ(index_list(Indices{3}), "3");
  EXPECT_EQ(index_list(Indices{1, 2, 3, 7, 9, 10}), "1-3,7,9-10");
  for (const char* text : {"1-200", "0,2,4", "5", "1-2,4-5,7"})
    EXPECT_EQ(index_list(array(text).indices), text);
}

}  // namespace
}  // namespace cleave
