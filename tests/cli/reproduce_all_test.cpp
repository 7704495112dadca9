// `cleave reproduce all` from outside.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/format.hpp"
#include "base/shell_word.hpp"
#include "base/temporary_folder_test.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;
using testing_program::text_of;

TEST(ReproduceAllCommand, WritesWhatEachCommandPrints) {
  const TemporaryFolder scratch;
  const std::string folder = (scratch.path() / "results").string();
  const Json answer =
      json_of(cleave("reproduce all --only co-runs,carma --json --write " + folder));
  ASSERT_EQ(answer["studies"].size(), 2U);
  const Json &coruns = answer["studies"][0], &carma = answer["studies"][1];
  EXPECT_EQ(coruns["study"], "co-runs");
  EXPECT_EQ(coruns["result"], "written");
  EXPECT_EQ(coruns["command"], "cleave reproduce co-runs");
  EXPECT_EQ(text_of(coruns["file"].get<std::string>()), cleave("reproduce co-runs").out);
  EXPECT_EQ(carma["result"], "skipped: it needs --data");
  EXPECT_EQ(carma["file"], "");
}

TEST(ReproduceAllCommand, OneThatFailsIsNamedAndTheOthersAreWritten) {
  const TemporaryFolder scratch;
  std::filesystem::create_directories(scratch.path() / "carma-dl-tasks");
  std::ofstream(scratch.path() / "carma-dl-tasks/training_tasks.csv") << "model\nvgg\n";
  const std::string folder = (scratch.path() / "results").string();
  const Outcome outcome = cleave("reproduce all --only carma,completion-time --data " +
                                 scratch.path().string() + " --write " + folder);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("the column"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("failed: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("skipped: no "), std::string::npos) << outcome.out;
}

// The commands that it shows can be given to a shell as they are.
TEST(ReproduceAllCommand, CommandsAreShownForAShell) {
  const TemporaryFolder scratch;
  const std::string data = (scratch.path() / "my data; $HOME's").string();
  std::filesystem::create_directories(data);
  const std::string folder = (scratch.path() / "results").string();
  const Json answer = json_of(cleave(fmt::format(
      "reproduce all --only carma --json --data {} --write {}", shell_word(data), folder)));
  EXPECT_EQ(answer["studies"][0]["command"],
            fmt::format("cleave reproduce carma --tasks {}",
                        shell_word(data + "/carma-dl-tasks/training_tasks.csv")));
}

TEST(ReproduceAllCommand, WrongNamesAndFoldersAreErrors) {
  EXPECT_EQ(cleave("reproduce all --only magic --write x").exit_code, 2);
  const TemporaryFolder scratch;
  std::ofstream(scratch.path() / "file") << "text";
  for (const std::string_view study :
       {"all", "dyna-p", "migm", "online", "optimal-placement", "taming"}) {
    EXPECT_EQ(cleave(fmt::format("reproduce {} --write ''", study)).exit_code, 2) << study;
    // Refused before the first run, which would take minutes.
    for (const std::string& folder :
         {std::string("/proc/none"), (scratch.path() / "file").string()}) {
      const Outcome outcome = cleave(fmt::format("reproduce {} --write {}", study, folder));
      EXPECT_EQ(outcome.exit_code, 2) << study;
      EXPECT_NE(outcome.err.find(folder), std::string::npos) << outcome.err;
      EXPECT_NE(outcome.err.find("--write"), std::string::npos) << outcome.err;
      EXPECT_EQ(outcome.out, "") << study;
    }
  }
}

TEST(ReproduceAllCommand, DataThatAreNotThereAreErrors) {
  const TemporaryFolder scratch;
  for (const std::string_view study : {"all", "online"}) {
    const std::filesystem::path folder = scratch.path() / study;
    const Outcome outcome =
        cleave(fmt::format("reproduce {} --data /nowhere --write {}", study, folder.string()));
    EXPECT_EQ(outcome.exit_code, 2) << study;
    EXPECT_NE(outcome.err.find("/nowhere"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("--data"), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder)) << "nothing was begun";
  }
}

}  // namespace
}  // namespace cleave
