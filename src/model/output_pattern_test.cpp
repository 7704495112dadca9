// Names of files for a job's outputs.

#include "model/output_pattern.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(OutputPattern, LettersAreFilledIn) {
  const OutputNames names{
      .job = 18, .array = 12, .index = 7, .rank = 2, .attempt = 3, .name = "a/b"};
  EXPECT_EQ(output_file("logs/%j-%a.out", "/home/ann", names), "/home/ann/logs/18-7.out");
  EXPECT_EQ(output_file("%x_%A_%r_%t%%", "/", names), "/a_b_12_3_2%");
  EXPECT_EQ(output_file("/tmp/%j", "/home/ann", names), "/tmp/18");
}

TEST(OutputPattern, UnknownLettersAreRefused) {
  for (const char* pattern : {"%q", "100%", "a%", "%%%", "logs/", "%J"}) {
    EXPECT_TRUE(wrong_output_pattern(pattern)) << pattern;
  }
  EXPECT_TRUE(wrong_output_pattern(std::string_view("a\0b", 3)));
  EXPECT_TRUE(wrong_output_pattern("\xff.out"));
  for (const char* pattern : {"", "plain.out", "%%", "logs/%x-%j_%A.%a.%t.%r"})
    EXPECT_FALSE(wrong_output_pattern(pattern)) << pattern;
  EXPECT_NE(wrong_output_pattern("%q")->remedy.find("%a (index)"), std::string::npos);
}

TEST(OutputPattern, ALetterIsNotAPercentSignBeforeOne) {
  EXPECT_TRUE(has_letter("x-%a", 'a'));
  EXPECT_FALSE(has_letter("x-%%a", 'a'));
  EXPECT_TRUE(has_letter("%%%a", 'a'));
}

}  // namespace
}  // namespace cleave
