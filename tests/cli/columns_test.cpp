// Columns: one list of them gives a command's text and its JSON.

#include "cli/columns.hpp"

#include <gtest/gtest.h>

namespace cleave::cli {
namespace {

struct Sample {
  std::string name;
  int gpus = 0;
  double seconds = 0;
  std::optional<double> share;
  bool same = false;
};

const Columns<Sample> columns = {
    {"name", "run", &Sample::name},
    {"gpus", "GPUs", &Sample::gpus},
    {"seconds", "ms", &Sample::seconds, decimals(1, 1e3)},
    {"share", "share", &Sample::share, decimals(2)},
    {"same", json_only, &Sample::same},
    {text_only, "same?", [](const Sample& run) { return run.same ? "yes" : "NO"; }},
    {"half", "half of", [](const Sample& run) { return run.gpus / 2; },
     [](const Sample& run) { return run.name + "/2"; }},
};
const std::vector<Sample> runs = {{"first", 8, 0.0125, 0.5, true}, {"b", 100, 2, {}, false}};

TEST(Columns, BecomeText) {
  EXPECT_EQ(text_rows(columns, runs),
            "run    GPUs      ms  share  same?  half of\n"
            "first     8    12.5   0.50  yes    first/2\n"
            "b       100  2000.0      -  NO     b/2\n");
}

TEST(Columns, BecomeJsonInTheirOrder) {
  EXPECT_EQ(json_rows(columns, runs).dump(),
            R"([{"name":"first","gpus":8,"seconds":0.0125,"share":0.5,"same":true,"half":4},)"
            R"({"name":"b","gpus":100,"seconds":2.0,"share":null,"same":false,"half":50}])");
  EXPECT_EQ(json_row(columns, runs[1])["share"], nullptr);
}

TEST(Columns, HaveOneCellForEachHeading) {
  EXPECT_EQ(headings(columns).size(), cells(columns, runs[0]).size());
  EXPECT_EQ(headings(columns).front(), "run");
}

TEST(Columns, WriteValuesPlainly) {
  EXPECT_EQ(plain_text(nullptr), "-");
  EXPECT_EQ(plain_text(12), "12");
  EXPECT_EQ(plain_text("a b"), "a b");
  EXPECT_EQ(plain_text(true), "yes");
  EXPECT_EQ(plain_text(Json::array({0, 2, "x"})), "0 2 x");
  EXPECT_EQ(or_word("unknown")(nullptr), "unknown");
  EXPECT_EQ(or_word("unknown")(3), "3");
  EXPECT_EQ(percent_text(0.634), "63 %");
  EXPECT_EQ(decimals(1, 1, "?")(nullptr), "?");
}

}  // namespace
}  // namespace cleave::cli
