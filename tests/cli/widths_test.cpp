// What commands print on a terminal of 80 columns fits it; what they print to pipes is whole.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "program.hpp"
#include "terminal.hpp"

namespace cleave::testing_program {
namespace {

class Widths : public testing::TestWithParam<const char*> {};

TEST_P(Widths, FitTheTerminal) {
  Terminal screen(std::string("LC_ALL=C.UTF-8 ") + GetParam(), 80, 50);
  const std::string shown = screen.rest();
  EXPECT_EQ(screen.exit_code, 0) << shown;
  for (const std::string_view written : split(shown, '\n')) {
    // Progress is drawn over itself.
    std::string_view line = written.substr(0, written.find_last_not_of('\r') + 1);
    if (const std::size_t over = line.rfind('\r'); over != std::string_view::npos)
      line = line.substr(over + 1);
    if (line.starts_with("\x1b[K")) line.remove_prefix(3);
    EXPECT_LE(columns_of(line), 80U) << line;
  }
}

constexpr const char* commands[] = {
    "cleave gpu",
    "cleave gpu A100-40GB",
    "cleave compare --fleet 4xA100-40GB --generate lab-day --seeds 2 --schedulers "
    "full-gpu,static:layout=best,online:migration=off,miso",
    "cleave compare --fleet 4xA100-40GB --generate lab-day --schedulers full-gpu,adaptive --sweep "
    "gpus=2,3,4,6,8",
    "cleave plan compact --fleet examples/fleets/scattered.json",
    "cleave policies",
    "cleave schedulers",
    "cleave forecasters",
    "cleave workload list",
    "cleave forecast time --train examples/forecast/measured.csv --group app --whole whole_s "
    "--slices slices",
    "cleave health",
    "cleave --help",
    "cleave simulate --help",
    "cleave compare --help",
    "cleave submit --help",
};
INSTANTIATE_TEST_SUITE_P(At80Columns, Widths, testing::ValuesIn(commands));

TEST(Pipes, HaveWholeLines) {
  std::size_t widest = 0;
  const Outcome help = cleave("simulate --help");
  for (const std::string_view line : split(help.out, '\n')) widest = std::max(widest, line.size());
  EXPECT_GT(widest, 200U);
}

TEST(Help, HasCommandsInGroups) {
  const std::string help = cleave("--help").out;
  const auto at = [&](const char* text) {
    const std::size_t found = help.find(text);
    EXPECT_NE(found, std::string::npos) << text;
    return found;
  };
  EXPECT_LT(at("\nJobs:\n"), at("\n  submit "));
  EXPECT_LT(at("\n  submit "), at("\nThe daemon:\n"));
  EXPECT_LT(at("\nSimulating and comparing:\n"), at("\n  compare "));
  EXPECT_LT(at("\n  compare "), at("\nForecasting:\n"));
  EXPECT_FALSE(help.contains("\nCommands:\n")) << "a command is in no group";
}

}  // namespace
}  // namespace cleave::testing_program
