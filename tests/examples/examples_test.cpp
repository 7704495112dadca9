// What the documents show is what the program prints, and every example file is accepted.

#include <gtest/gtest.h>

#include <filesystem>

#include "../cli/program.hpp"

namespace cleave {
namespace {

using testing_program::shell;

TEST(Documents, ShowWhatTheProgramPrints) {
  std::string files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(CLEAVE_SOURCE_DIR "/docs"))
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
  EXPECT_EQ(shell("cat " + file).out, "```console\n$ echo one\none\n```\n```\n$ echo not run\n```\n");
  EXPECT_EQ(shell("cleave-examples " + file).exit_code, 0);
}

TEST(Examples, Run) {
  EXPECT_EQ(shell("cleave simulate --fleet examples/fleets/mixed-rack.json --workload "
                  "examples/workloads/three-jobs.csv --scheduler online")
                .exit_code,
            0);
  for (const auto& entry : std::filesystem::directory_iterator(CLEAVE_SOURCE_DIR "/examples/fleets"))
    EXPECT_EQ(shell("cleave place --policy first-fit --memory 1000 --fleet '" + entry.path().string() + "'")
                  .exit_code,
              0)
        << entry.path();
}

}  // namespace
}  // namespace cleave
