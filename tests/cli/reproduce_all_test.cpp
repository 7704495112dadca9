// `cleave reproduce all` from outside.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/temporary_folder_test.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;

std::string text_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

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

TEST(ReproduceAllCommand, WrongNamesAndFoldersAreErrors) {
  EXPECT_EQ(cleave("reproduce all --write /proc/none").exit_code, 2);
  EXPECT_EQ(cleave("reproduce all --only magic --write x").exit_code, 2);
  for (const char* study : {"all", "dyna-p", "optimal-placement"})
    EXPECT_EQ(cleave(std::string("reproduce ") + study + " --write ''").exit_code, 2) << study;
}

}  // namespace
}  // namespace cleave
