// The past of a daemon as a workload, and run again under other schedulers.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/history_replay.hpp"
#include "cli/trace_arguments.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;
using testing_program::Scratch;

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

TEST(History, ThePageSaysWhatTheTextSays) {
  const Scratch scratch;
  const std::string file = scratch.path("past.html");
  const Outcome ran = cleave(std::string("compare --schedulers full-gpu,online --ran online ") +
                             history + "--report " + file);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  std::stringstream page;
  page << std::ifstream(file).rdbuf();
  for (const char* part :
       {"60 jobs read, left out: 2 never ran", "asked for no size; it is the memory that",
        "elsewhere it follows as if they were half-way", "as it ran", "makespan ",
        "online ran; its simulation against what was seen: makespan ", "job by job: half within "})
    EXPECT_NE(page.str().find(part), std::string::npos) << part;
}

TEST(History, CountsReadRightForNoneOneAndMany) {
  const auto fleet = cli::load_fleet("1xA100-40GB", "all");
  ASSERT_TRUE(fleet) << fleet.error().text();
  const auto said = [&](std::size_t count) {
    PastWorkload past;
    past.workload.read = count;
    if (count > 0)
      past.workload.left_out = {{"has not ended", count, 0},
                                {"is a service or lease", count, 0},
                                {"never ran", count, 0}};
    past.sizes.by_peak = past.sizes.by_place = past.sizes.nowhere = count;
    const std::string text = cli::introduction_of(past, *fleet);
    return text.substr(0, text.find("assumed: of all jobs"));
  };
  EXPECT_EQ(said(0), "history: 0 jobs read, none left out\n");
  EXPECT_EQ(said(1),
            "history: 1 job read, left out: 1 has not ended, 1 is a service or lease, 1 never ran\n"
            "assumed: 1 job asked for no size; it is the memory that it reported\n"
            "assumed: 1 job asked for no size and reported no memory; it is that of where it ran\n"
            "assumed: 1 job ran at a place that is not known and counts as a whole GPU\n");
  EXPECT_EQ(
      said(6),
      "history: 6 jobs read, left out: 6 have not ended, 6 are services or leases, 6 never ran\n"
      "assumed: 6 jobs asked for no size; it is the memory that they reported\n"
      "assumed: 6 jobs asked for no size and reported no memory; it is that of where they ran\n"
      "assumed: 6 jobs ran at places that are not known and count as whole GPUs\n");
}

TEST(TraceNotes, ReadRightForNoneOneAndMany) {
  const auto said = [](const char* key, std::size_t count) {
    Workload workload;
    workload.options = {{"format", "sacct"}};
    workload.notes = {{key, count}};
    const std::string text = cli::trace_text(workload);
    return text.substr(text.find("GPU-hours: 0.0 read, 0.0 left out\n") + 34);
  };
  EXPECT_EQ(said("censored", 0), "no job was still running when the trace ends\n");
  EXPECT_EQ(said("censored", 1),
            "1 job was still running when the trace ends; it runs to its end\n");
  EXPECT_EQ(said("censored", 2),
            "2 jobs were still running when the trace ends; they run to its end\n");
  EXPECT_EQ(said("sized_by_use", 1),
            "1 job asked for a whole GPU and counts as large and fast as what it used\n");
  EXPECT_EQ(said("began_before", 1), "1 job ran already when the trace begins; it arrives then\n");
  EXPECT_EQ(said("requests", 1), "1 request makes the load of the services\n");
  EXPECT_EQ(said("applications", 1), "the jobs are of 1 application\n");
  EXPECT_EQ(said("applications", 3), "the jobs are of 3 applications\n");
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

// Ten jobs of an array, two at a time, and one after all of them.
TEST(History, KeepsTheOrderOfArraysAndOfJobsAfterOthers) {
  Json jobs = Json::array();
  const auto add = [&](int id, const Json& more) {
    Json job{{"id", id},           {"name", "embed"},
             {"user", "ben"},      {"state", "finished"},
             {"kind", "batch"},    {"places", 1},
             {"priority", 0},      {"asks_now", "4500 MiB"},
             {"ran_on", "1g.5gb"}, {"submitted_at", "2026-05-04T12:00:00.000Z"}};
    const int minute = 10 * ((id - 1) / 2);
    job["started_at"] = fmt::format("2026-05-04T12:{:02}:05.000Z", minute);
    job["ended_at"] = fmt::format("2026-05-04T12:{:02}:05.000Z", minute + 9);
    job.update(more);
    jobs.push_back(job);
  };
  for (int id = 1; id <= 10; ++id)
    add(id, {{"array", {{"job", 1}, {"index", id}, {"tasks", 10}, {"at_once", 2}, {"last", 10}}}});
  add(11, {{"awaited", "ok:1-10,any:900"}});
  const Scratch scratch;
  const std::string file = scratch.write("ps.json", Json({{"jobs", jobs}}).dump());
  const std::string past = "--fleet 2xA100-40GB --history " + file;
  const Outcome lines = cleave("workload from-history " + past);
  ASSERT_EQ(lines.exit_code, 0) << lines.err;
  EXPECT_NE(lines.out.find(R"("after":["any:array-1"])"), std::string::npos) << lines.out;
  EXPECT_NE(lines.err.find("as it was: 1 job waits for others, 10 jobs are of arrays"),
            std::string::npos)
      << lines.err;
  const Json json =
      json_of(cleave("compare --json --schedulers scheme-b,online --ran scheme-b " + past), 0);
  EXPECT_EQ(json["history"]["order"], Json({{"after", 1}, {"at_once", 10}, {"elsewhere", 1}}));
  // Five turns of nine minutes and one more: with all at once it would be two.
  EXPECT_LT(std::abs(json["history"]["errors"]["makespan"].get<double>()), 0.15);
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
