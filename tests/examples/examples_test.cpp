// The documents show what the program prints, and every example file is accepted.

#include <gtest/gtest.h>

#include <filesystem>

#include "../cli/program.hpp"
#include "base/places_test.hpp"

namespace cleave {
namespace {

using testing_program::shell;

TEST(Documents, ShowWhatTheProgramPrints) {
  std::string files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir() + "/docs"))
    if (entry.path().extension() == ".md") files += " '" + entry.path().string() + "'";
  const auto outcome = shell("cleave-examples README.md" + files);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err << "\nrewrite with tools/update-docs.sh";
  EXPECT_FALSE(outcome.out.starts_with("0 commands"));
}

TEST(Documents, ADifferenceIsSeenAndMended) {
  const testing_program::Scratch scratch;
  const std::string file =
      scratch.write("a.md", "```console\n$ echo one\ntwo\n```\n```\n$ echo not run\n```\n");
  EXPECT_EQ(shell("cleave-examples " + file).exit_code, 1);
  EXPECT_EQ(shell("cleave-examples --update " + file).exit_code, 0);
  EXPECT_EQ(shell("cat " + file).out,
            "```console\n$ echo one\none\n```\n```\n$ echo not run\n```\n");
  EXPECT_EQ(shell("cleave-examples " + file).exit_code, 0);
}

TEST(Examples, Run) {
  EXPECT_EQ(shell("cleave simulate --fleet examples/fleets/mixed-rack.json --workload "
                  "examples/workloads/three-jobs.csv --scheduler online")
                .exit_code,
            0);
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/examples/fleets"))
    EXPECT_EQ(shell("cleave place --policy first-fit --memory 1000 --fleet '" +
                    entry.path().string() + "'")
                  .exit_code,
              0)
        << entry.path();
}

TEST(Examples, AResearchersTrainingIsRestartedEarlyAndFinishes) {
  if (shell("python3 --version").exit_code != 0) GTEST_SKIP() << "there is no python3";
  const auto outcome = shell("examples/researcher.sh");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* each : {"ended        finished", "asked for    nothing", "1g.5gb",
                           "early-restart", "trained 30 steps", "ended-itself: exited with 0"})
    EXPECT_TRUE(outcome.out.find(each) != std::string::npos) << each << " is not in\n"
                                                             << outcome.out;
}

const std::string demo = "CLEAVE_PROGRAMS='" + binary_dir() + "/bin' examples/demo/run.sh";

TEST(Demo, RunsItsBatchAndComparesIt) {
  const auto outcome = shell(demo);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* each : {"job-restarted-early", "early-restart", "static:layout=best",
                           "The daemon itself", "the daemon finds it out", "  http://127.0.0.1:"})
    EXPECT_TRUE(outcome.out.find(each) != std::string::npos) << each << " is not in\n"
                                                             << outcome.out;
  for (const char* each : {"failed", "cancelled", " inf", " nan", "(0.0 s)"})
    EXPECT_TRUE(outcome.out.find(each) == std::string::npos) << each << " is in\n" << outcome.out;
}

/// If it is ended in the middle of its batch it leaves no process and no file.
TEST(Demo, LeavesNothingWhenItIsEnded) {
  const testing_program::Scratch scratch;
  const std::string script = scratch.write(
      "end.sh",
      "set -u\n"
      "before=$(ls -d build/demo.* 2>/dev/null)\n" +
          demo +
          " >/dev/null 2>&1 &\n"
          "demo=$!\n"
          "for i in $(seq 200); do\n"
          "  work=$(ls -d build/demo.* 2>/dev/null | grep -vxF \"$before\" | grep -v demo.log)\n"
          "  [ -n \"$work\" ] && ls $work/state/jobs/1.1/user/stdout.log >/dev/null 2>&1 && break\n"
          "  sleep 0.1\n"
          "done\n"
          "[ -n \"$work\" ] || { echo never began; exit 1; }\n"
          "sleep 1\n"
          "kill -TERM $demo\n"
          "wait $demo\n"
          "echo ended with $?\n"
          "ls -d $work 2>/dev/null\n"
          "grep -l -a -F \"$work\" /proc/[0-9]*/cmdline 2>/dev/null\n"
          "true\n");
  const auto outcome = shell("bash " + script);
  EXPECT_EQ(outcome.out, "ended with 143\n") << outcome.err;
}

}  // namespace
}  // namespace cleave
