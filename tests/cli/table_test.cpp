// Tables and figures as they look to people, and small charts.

#include "cli/table.hpp"

#include <gtest/gtest.h>

#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/blocks.hpp"

namespace cleave::cli {
namespace {

Table jobs() {
  Table table({"job", "number of attempts", "why it waits"});
  table.add({"train-1", "12", "it waits for an instance of 3g.20gb, which nobody has left yet"});
  table.add({"b", "3", "-"});
  return table;
}

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  for (const std::string_view line : split(text, '\n')) most = std::max(most, columns_of(line));
  return most;
}

TEST(Table, IsAsWideAsItIsInPipes) {
  EXPECT_EQ(jobs().text(0), jobs().text()) << "standard output of tests is not a terminal";
  EXPECT_EQ(
      jobs().text(0),
      "job      number of attempts  why it waits\n"
      "train-1                  12  it waits for an instance of 3g.20gb, which nobody has left "
      "yet\n"
      "b                         3  -\n");
}

TEST(Table, WrapsHeadingsAndThenCells) {
  // The heading alone makes room enough.
  EXPECT_EQ(jobs().text(82),
            "         number of\n"
            "job       attempts  why it waits\n"
            "train-1         12  it waits for an instance of 3g.20gb, which nobody has left yet\n"
            "b                3  -\n");
  for (const std::size_t width : {40, 50, 60, 70, 80}) {
    const std::string text = jobs().text(width);
    EXPECT_LE(widest(text), width) << text;
    for (const char* word : {"train-1", "attempts", "3g.20gb,", "nobody", "left", "yet"})
      EXPECT_TRUE(text.contains(word)) << word << "\n" << text;
  }
}

TEST(Table, FollowsInBlocksWhereNumbersDoNotFit) {
  Table table({"scheduler", "makespan", "mean wait", "95 % wait"});
  table.add({"online:migration=off", "12.5 h", "61.7 min", "130.8 min"});
  EXPECT_EQ(table.text(42),
            "                                    mean\n"
            "scheduler             makespan      wait\n"
            "online:migration=off    12.5 h  61.7 min\n"
            "\n"
            "scheduler             95 % wait\n"
            "online:migration=off  130.8 min\n");
}

/// As in the table of what would change advice: the first column says it in a sentence.
TEST(Table, WrapsTheFirstColumnRatherThanGoBeyondTheTerminal) {
  Table table({"if", "over whole GPUs", "best over best now", "advice then", "changes the answer"});
  table.add({"all of unknown speed use a part of the GPU (0.88 of its speed on 1g.5gb)",
             "1.00 (0.60 to 1.00)", "1.00 (1.00 to 1.00)", "online:migration=off;backfill=easy",
             "no"});
  for (const std::size_t width : {60, 80, 100}) {
    const std::string text = table.text(width);
    EXPECT_LE(widest(text), width) << text;
    for (const char* word : {"unknown", "1g.5gb)", "online:migration=off;backfill=easy", "answer"})
      EXPECT_TRUE(text.contains(word)) << word << "\n" << text;
  }
}

TEST(Figures, OfOneColumnAreInOneUnit) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(in_one_unit("s", {90.0, 3600.0, std::nullopt}), (Texts{"1.5 min", "60.0 min", "-"}));
  EXPECT_EQ(in_one_unit("s", {0.2, 99.0}), (Texts{"0.2 s", "99.0 s"}));
  EXPECT_EQ(in_one_unit("s", {3600.0, 90'000.0}), (Texts{"1.00 h", "25.00 h"}));
  EXPECT_EQ(in_one_unit("s", {86'400.0, 864'000.0}), (Texts{"1.00 d", "10.00 d"}));
  EXPECT_EQ(in_one_unit("%", {0.5}), Texts{"50 %"});
  EXPECT_EQ(in_one_unit("J", {1.753e11}), Texts{"48694 kWh"});
}

TEST(Blocks, FillTheirShare) {
  EXPECT_EQ(bar(0.5, 8, false), "####");
  EXPECT_EQ(bar(0, 8, false), "");
  EXPECT_EQ(bar(0.001, 8, false), "#") << "what is not nothing shows";
  EXPECT_EQ(bar(2, 4, false), "####");
  EXPECT_EQ(bar(0.5, 4, true), "\u2588\u2588");
  EXPECT_EQ(bar(1.0 / 16, 4, true), "\u258e");
  EXPECT_EQ(level(0, false), " ");
  EXPECT_EQ(level(1, false), "@");
  EXPECT_EQ(level(1, true), "\u2588");
  EXPECT_EQ(level(0.01, true), "\u2581");
}

}  // namespace
}  // namespace cleave::cli
