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

TEST(Advise, WritesAReport) {
  const Scratch scratch;
  const std::string file = scratch.path("advice.html");
  const Outcome said = cleave(std::string(lab_day) + "--report " + file);
  ASSERT_EQ(said.exit_code, 0) << said.err;
  const std::string page = shell("cat " + file).out;
  const std::string first(split(said.out, '\n')[0]);
  EXPECT_NE(page.find("<title>cleave advise</title>"), std::string::npos);
  EXPECT_NE(page.find(first), std::string::npos) << "the answer";
  EXPECT_NE(page.find("\"over_whole_gpus\""), std::string::npos);
  const Outcome same = cleave(std::string(lab_day) + "--report data/workloads/lab-day.jsonl");
  EXPECT_EQ(same.exit_code, 2) << same.out;
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

constexpr const char* with_history =
    "advise --fleet 2xA100-40GB --draws 6 --json --history examples/history/ps.json";

TEST(Advise, TakesThePastJobsOfADaemon) {
  const Json json = json_of(cleave(with_history), 0);
  EXPECT_EQ(json["draws"]["kind"], "resampled");
  EXPECT_FALSE(json["answer"]["scheduler"].is_null());
  EXPECT_EQ(json["unmeasured"].size(), 3U) << "finetune, embed and eval";
  const std::string assumed = json["assumed"].dump();
  EXPECT_NE(assumed.find("jobs of the history"), std::string::npos) << assumed;
  EXPECT_NE(assumed.find("asked for no size: the memory that they reported"), std::string::npos);
  EXPECT_NE(assumed.find("left out of the history: 2 (never ran)"), std::string::npos) << assumed;
  EXPECT_EQ(assumed.find("do not say where they ran"), std::string::npos) << assumed;
  const Outcome piped = shell(
      "cleave advise --fleet 2xA100-40GB --draws 6 --json --history - < examples/history/ps.json");
  EXPECT_EQ(json_of(piped, 0), json);
}

TEST(Advise, RefusesAHistoryThatItCannotRead) {
  const Scratch scratch;
  const auto refused = [](const std::string& source, const std::string& place,
                          const std::string& remedy) {
    const Outcome said = cleave("advise --fleet 2xA100-40GB --history " + source);
    EXPECT_EQ(said.exit_code, 2) << source << said.err;
    EXPECT_EQ(said.out, "");
    EXPECT_NE(said.err.find(place), std::string::npos) << said.err;
    EXPECT_NE(said.err.find(remedy), std::string::npos) << said.err;
  };
  refused(scratch.write("cut.json", R"({"jobs": [)"), "cut.json", "");
  refused(scratch.write("list.json", "[]"), "list.json", "ps --all --json");
  refused(scratch.write("type.json", R"({"jobs": [{"id": "one"}]})"), "type.json: jobs[0]",
          "ps --all --json");
  refused(scratch.write("empty.json", R"({"jobs": []})"), "the history", "ps --all --json");
  refused("/nowhere/ps.json", "/nowhere/ps.json", "");
  refused("examples/history/ps.json --generate lab-day", "--history", "--generate");
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
