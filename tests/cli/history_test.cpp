// The past of a daemon as a workload, and run again under other schedulers.

#include <gtest/gtest.h>

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

constexpr const char* history = "--fleet 2xA100-40GB --history examples/history/ps.json ";

TEST(History, BecomesAWorkload) {
  const Outcome outcome = cleave(std::string("workload from-history ") + history);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("history: 60 jobs read, left out: 2 never ran"), std::string::npos)
      << outcome.err;
  std::size_t jobs = 0;
  for (const std::string_view line : split(outcome.out, '\n')) {
    if (line.empty()) continue;
    const auto job = parse_json(line, "line");
    ASSERT_TRUE(job) << line;
    ++jobs;
    for (const char* key : {"id", "arrival_s", "duration_s", "law", "user", "x-waited_s", "x-ran_s",
                            "x-ran_on", "x-ended"})
      EXPECT_TRUE(job->contains(key)) << key << " " << line;
    // What ran on a slice takes less on the whole GPU.
    EXPECT_LE((*job)["duration_s"].get<double>(), (*job)["x-ran_s"].get<double>() + 1e-6);
  }
  EXPECT_EQ(jobs, 58U);
  const Scratch scratch;
  const std::string file = scratch.write("past.jsonl", outcome.out);
  EXPECT_EQ(json_of(cleave("workload info --json " + file), 0)["jobs"], 58);
  EXPECT_EQ(
      json_of(cleave("simulate --json --fleet 2xA100-40GB --workload " + file), 0)["finished"], 58);
}

TEST(History, IsReplayedUnderOtherSchedulers) {
  const Outcome text =
      cleave(std::string("compare --schedulers full-gpu,scheme-b --ran online ") + history);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  for (const char* part :
       {"58 jobs on 2 x A100-40GB", "history: 60 jobs read", "as it ran",
        "online ran; its "
        "simulation against what was seen: makespan ",
        "job by job: half within ",
        "mean turnaround, as multiples of full-gpu's, by what is assumed", "half-way"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  const Json json = json_of(
      cleave(std::string("compare --json --schedulers online,full-gpu --ran online ") + history),
      0);
  EXPECT_EQ(json["runs"].size(), 2U) << "the one that ran is one of them";
  EXPECT_EQ(json["history"]["ran"], "online");
  EXPECT_EQ(json["history"]["errors"]["jobs"], 58);
  EXPECT_GT(json["history"]["seen"]["makespan_s"].get<double>(), 3600);
  EXPECT_EQ(json["assumed"]["range"].size(), 3U);
  const double seen = json["history"]["seen"]["turnaround_mean_s"];
  const double simulated =
      json["comparison"]["schedulers"][0]["figures"]["turnaround_mean_s"]["median"];
  EXPECT_NEAR(json["history"]["errors"]["turnaround_mean"].get<double>(), simulated / seen - 1,
              1e-9);
}

TEST(History, SinceLeavesTheEarlierJobsOut) {
  const auto jobs = [](const std::string& since) {
    const Json json =
        json_of(cleave("compare --json --schedulers online,full-gpu " + since + " " + history), 0);
    EXPECT_TRUE(json["history"]["ran"].is_null());
    EXPECT_TRUE(json["history"]["errors"].is_null()) << "nobody said which one ran";
    return json["runs"][0]["jobs"].get<int>();
  };
  const int all = jobs(""), last = jobs("--since 2h"), day = jobs("--since 2026-05-04T00:00:00Z");
  EXPECT_EQ(all, 58);
  EXPECT_LT(last, all);
  EXPECT_GT(last, 0);
  EXPECT_LE(last, day);
}

TEST(History, RefusesWhatBelongsElsewhere) {
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Outcome outcome = cleave("compare --schedulers online " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  };
  refused("--history examples/history/ps.json", "--fleet: it is required; a list of jobs");
  refused("--generate lab-day", "--fleet: it is required; name a fleet file");
  refused("--fleet 1xA30-24GB --generate lab-day --since 7d", "--since: this belongs to --history");
  refused(std::string(history) + "--generate lab-day", "another workload is given beside it");
  refused(std::string(history) + "--since yesterday", "--since: 'yesterday' is not a time");
  refused(std::string(history) + "--ran lottery", "--ran: ");
}

}  // namespace
}  // namespace cleave
