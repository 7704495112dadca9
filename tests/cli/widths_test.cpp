// What commands print on a terminal of 80 columns fits it; what they print to pipes is whole.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "program.hpp"
#include "sim_node.hpp"
#include "terminal.hpp"

namespace cleave::testing_program {
namespace {

/// On a terminal of 80 columns; returns what is shown.
std::string expect_fits(const std::string& command, int exit_code = 0) {
  SCOPED_TRACE(command);
  Terminal screen("LC_ALL=C.UTF-8 " + command, 80, 50);
  std::string shown = screen.rest();
  EXPECT_EQ(screen.exit_code, exit_code) << shown;
  for (const std::string_view written : split(shown, '\n')) {
    // Progress is drawn over itself.
    std::string_view line = written.substr(0, written.find_last_not_of('\r') + 1);
    if (const std::size_t over = line.rfind('\r'); over != std::string_view::npos)
      line = line.substr(over + 1);
    if (line.starts_with("\x1b[K")) line.remove_prefix(3);
    EXPECT_LE(columns_of(line), 80U) << line;
  }
  return shown;
}

class Widths : public testing::TestWithParam<const char*> {};

TEST_P(Widths, FitTheTerminal) {
  expect_fits(GetParam());
}

TEST_P(Widths, AreOfAsciiWhereTheLocaleShowsNothingElse) {
  Terminal screen(std::string("LC_ALL=C ") + GetParam(), 80, 50);
  const std::string shown = screen.rest();
  EXPECT_TRUE(std::ranges::all_of(shown, [](char c) { return c >= 0; })) << shown;
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
    "cleave advise --fleet 2xA100-40GB --generate lab-day --draws 6",
    "cleave --help",
    "cleave simulate --help",
    "cleave compare --help",
    "cleave submit --help",
    "cleave plan deploy --help",
    "cleave slurm shadow --help",
    "cleave reproduce all --help",
    "cleave admit --fleet 4xA100-40GB --batch examples/batches/class.json",
    "cleave simulate --fleet 4xA100-40GB --generate lab-day",
    "cleave rebalance --fleet examples/fleets/departed.json --gpu n0/1",
    "cleave forecast kernel --grid 200 --threads 256 --registers 40 --gpu A100-40GB",
    "cleave forecast memory --series examples/series/growing-context.csv --iterations 157 "
    "--capacity 9984",
};
INSTANTIATE_TEST_SUITE_P(At80Columns, Widths, testing::ValuesIn(commands));

TEST(WidthsOfErrors, FitTheTerminalAndAreOneLineInPipes) {
  const char* too_large = "cleave place --fleet examples/fleets/one-node.json --profile 7g.40gb";
  const std::string shown = expect_fits(too_large, 1);
  EXPECT_TRUE(shown.contains("\n  ")) << "wrapped: " << shown;
  const Outcome whole = shell(too_large);
  EXPECT_EQ(std::ranges::count(whole.err, '\n'), 1) << whole.err;
  EXPECT_GT(whole.err.size(), 100U);
  const Scratch scratch;
  expect_fits("cleave sim-node create " + scratch.path("node") + " --gpus 1xA100-40GB --instant");
}

/// The GPUs with the longest names, some instances, and somebody else's.
TEST(WidthsOfANode, FitTheTerminalAndAreWholeInPipes) {
  const SimNode node("3xRTX-PRO-6000-BW-96GB");
  ASSERT_EQ(node.run("create --gpu 0 1g.24gb").exit_code, 0);
  ASSERT_EQ(node.run("create --gpu 1 2g.48gb").exit_code, 0);
  const std::string foreign = node.foreign("1g.24gb", 3);
  for (const char* command : {"gpus", "instances"}) {
    expect_fits(node.command(command));
    const std::string whole = node.run(command).out;
    const std::size_t widest = std::ranges::max(split(whole, '\n'), {}, [](std::string_view line) {
                                 return line.size();
                               }).size();
    EXPECT_GT(widest, 80U) << whole;
  }
  EXPECT_NE(node.run("gpus").out.find("NVIDIA RTX PRO 6000 Blackwell Server Edition"),
            std::string::npos);
  EXPECT_NE(node.run("instances").out.find(foreign), std::string::npos);
  const Outcome doctor = node.run("doctor");
  expect_fits(node.command("doctor"), doctor.exit_code);
}

const std::string long_name = "fine-tuning-of-the-translation-model-for-newspapers-v12";

std::string with_long_names(std::string text, const std::string& name) {
  for (std::size_t at = text.find(name); at != std::string::npos;
       at = text.find(name, at + long_name.size()))
    text.replace(at, name.size(), '"' + long_name + '"');
  return text;
}

std::string text_of(const std::string& path) {
  return shell("cat " + path).out;
}

TEST(WidthsOfForecasts, FitTheTerminalAndAreWholeInPipes) {
  const Scratch scratch;
  const std::string repository = scratch.write(
                        "r.jsonl",
                        with_long_names(text_of("examples/profiles/repository.jsonl"), "\"bert\"")),
                    jobs = scratch.write(
                        "j.json", with_long_names(text_of("examples/profiles/inference-jobs.json"),
                                                  "\"mail\""));
  for (const std::string& command :
       {"profiles list --repository " + repository, "choose --jobs " + jobs}) {
    expect_fits("cleave " + command);
    const Outcome whole = cleave(command);
    EXPECT_EQ(whole.exit_code, 0) << whole.err;
    EXPECT_NE(whole.out.find(long_name), std::string::npos) << whole.out;
  }
  for (const char* options :
       {"", "--batch 64 --train", "--fits H100-80GB-SXM5", "--fits A30-24GB --offload"})
    expect_fits(
        fmt::format("cleave forecast model examples/models/mixtral-8x7b/config.json {}", options));
  expect_fits("cleave forecast model vision:resnet50 --batch 256 --train --fits A100-40GB");
}

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
