// `cleave advise` from outside: the answer, its JSON, and what it refuses.

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

constexpr const char* lab_day =
    "advise --fleet 4xA100-40GB --workload data/workloads/lab-day.jsonl --draws 6 ";

TEST(Advise, TheFirstLinesAreTheAnswer) {
  const Outcome said = cleave(lab_day);
  ASSERT_EQ(said.exit_code, 0) << said.err;
  const auto lines = split(said.out, '\n');
  ASSERT_GT(lines.size(), 10U);
  EXPECT_TRUE(lines[0].starts_with("MIG helps: ")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("Scheduler: ")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("If one layout must stay: ")) << lines[2];
  EXPECT_NE(said.out.find("\nleft out: miso:checkpoint=moved: "), std::string::npos);
  const Json json = json_of(cleave(std::string(lab_day) + "--json"), 0);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(json["text"][i], std::string(lines[i]));
  EXPECT_EQ(json["answer"]["mig_over_whole_gpus"]["difference"], "shorter");
  EXPECT_EQ(json["answer"]["mig_over_whole_gpus"]["draws"], 6);
  EXPECT_EQ(json["draws"]["kind"], "resampled");
  EXPECT_FALSE(json["answer"]["scheduler"].is_null());
}

TEST(Advise, SaysTheSameWithAnyNumberOfThreads) {
  const std::string command = fmt::format("{} --json --threads", lab_day);
  EXPECT_EQ(cleave(command + " 1").out, cleave(command + " 5").out);
}

TEST(Advise, DrawsSeedsOfAGenerator) {
  const Json json =
      json_of(cleave("advise --fleet 4xA100-40GB --generate lab-day --draws 6 --json"), 0);
  EXPECT_EQ(json["draws"]["kind"], "independent");
  EXPECT_EQ(json["draws"]["as_things_are"], 6);
}

// A job that asks for all of a GPU has nothing from MIG.
TEST(Advise, MigMayNotHelp) {
  const Scratch scratch;
  std::string jobs;
  for (int i = 0; i < 60; ++i)
    jobs += fmt::format(R"({{"id":"train-{}","arrival_s":{},"profile":"7g.40gb","duration_s":900}})"
                        "\n",
                        i, i * 300);
  const Outcome said = cleave("advise --fleet 2xA100-40GB --draws 6 --workload " +
                              scratch.write("jobs.jsonl", jobs));
  ASSERT_EQ(said.exit_code, 0) << said.err;
  EXPECT_TRUE(said.out.starts_with("MIG makes no difference beyond the spread: ")) << said.out;
  EXPECT_NE(said.out.find("\nScheduler: full-gpu"), std::string::npos) << said.out;
}

TEST(Advise, NamesWhatToMeasure) {
  const Scratch scratch;
  std::string jobs;
  for (int i = 0; i < 80; ++i)
    jobs += fmt::format(R"({{"id":"{}-{}","arrival_s":{},"profile":"1g.5gb","duration_s":{}}})"
                        "\n",
                        i % 4 == 0 ? "notebook" : "train", i, i * 120, i % 4 == 0 ? 60 : 1200);
  const std::string file = scratch.write("jobs.jsonl", jobs);
  const Json json =
      json_of(cleave("advise --fleet 2xA100-40GB --draws 6 --json --workload " + file), 0);
  ASSERT_EQ(json["unmeasured"].size(), 2U);
  EXPECT_EQ(json["unmeasured"][0]["application"], "train");
  EXPECT_GT(json["unmeasured"][0]["share"], 0.9);
  EXPECT_TRUE(json["unmeasured"][0]["moves"].is_number());
}

TEST(Advise, RefusesWhatItCannotRead) {
  const auto refused = [](const std::string& arguments, const std::string& place) {
    const Outcome said = cleave("advise " + arguments);
    EXPECT_EQ(said.exit_code, 2) << arguments << said.err;
    EXPECT_EQ(said.out, "");
    EXPECT_NE(said.err.find(place), std::string::npos) << said.err;
  };
  refused("--fleet 2xA100-40GB", "--workload FILE");
  refused("--fleet 2xA100-40GB --generate lab-day --draws 5", "--draws");
  refused("--fleet 2xA100-40GB --generate lab-day --may some", "--may");
  refused("--fleet 2xA100-40GB --generate lab-day --know times=maybe", "times");
  const Scratch scratch;
  refused("--fleet 2xA100-40GB --workload " + scratch.write("none.jsonl", ""), "none.jsonl");
}

TEST(Advise, EndsAtOnceOnCtrlC) {
  const Outcome said = shell(
      "timeout --signal=INT --foreground 0.5 cleave advise --fleet 4xA100-40GB --generate lab-day "
      "--draws 1000; test $? -eq 124");
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_EQ(said.out, "") << "half an answer";
}

}  // namespace
}  // namespace cleave
