// What jobs keep when they are moved, stopped or lost, and the time that this costs, by hand and as
// a law.

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/random.hpp"
#include "model/workload_file.hpp"
#include "simulate/every_progress_test.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

using std::chrono::seconds;

FleetFile fleet_in_progress(std::string_view text) {
  return *parse_fleet_in_short(text, *ProfileChoice::parse("plain"));
}

/// The second of three jobs is moved at 15 s, after 10 s of its work.
struct Moved {
  RunSummary summary;
  std::vector<JobOutcome> outcomes;
};
Moved moved(std::string_view progress) {
  const auto workload = *parse_workload(
      fmt::format(
          R"({{"id": "a", "profile": "3g.20gb", "duration_s": 10, "speed": {{"3g.20gb": 1}}}}
{{"id": "b", "profile": "2g.10gb", "duration_s": 100, "speed": {{"2g.10gb": 1}}{}}}
{{"id": "c", "profile": "4g.20gb", "arrival_s": 1, "duration_s": 10, "speed": {{"4g.20gb": 1}}}})",
          progress),
      "jobs");
  SimulationOptions options;
  options.reconfiguration = seconds(5);
  Moved result;
  options.outcomes = &result.outcomes;
  result.summary = *simulate(fleet_in_progress("1xA100-40GB"), workload,
                             *parse_scheduler("online:threshold=0.1"), options);
  return result;
}

TEST(Progress, AServerLosesNothingByAMove) {
  const Moved server = moved(R"(, "progress": "stateless")");
  EXPECT_EQ(server.summary.migrations, 1U);
  EXPECT_EQ(server.outcomes[1].turnaround, seconds(105));
  EXPECT_EQ(server.summary.checkpoint_s + server.summary.restore_s + server.summary.lost_work_s, 0);
}

// It writes from 15 to 30 s, restores until 45 s, and has 90 s of work left.
TEST(Progress, AMoveByCheckpointTakesItsWritingAndReading) {
  const Moved training = moved(R"(, "progress": "checkpoint")");
  EXPECT_EQ(training.summary.migrations, 1U);
  EXPECT_EQ(training.summary.checkpoints, 0U) << "it was not stopped to wait";
  EXPECT_EQ(training.outcomes[1].turnaround, seconds(135));
  EXPECT_EQ(training.outcomes[2].wait, seconds(34)) << "its place is in use until 30 s";
  EXPECT_EQ(training.summary.checkpoint_s, 15);
  EXPECT_EQ(training.summary.restore_s, 15);
  EXPECT_EQ(training.summary.lost_work_s, 0);
}

TEST(Progress, WorkThatKeepsNothingStaysOrBeginsAgain) {
  const Moved stays = moved(R"(, "progress": "none")");
  EXPECT_EQ(stays.summary.migrations, 0U);
  EXPECT_EQ(stays.outcomes[1].turnaround, seconds(105));
  const Moved again = moved(R"(, "progress": "none", "movable": true)");
  EXPECT_EQ(again.summary.migrations, 1U);
  EXPECT_EQ(again.outcomes[1].turnaround, seconds(120)) << "from 20 s on";
  EXPECT_EQ(again.summary.lost_work_s, 10);
}

// The GPU is lost after 75 s of 100 s of work, and returns 5 s later.
TEST(Progress, WhatIsLostWithAGpu) {
  const auto run = [](std::string_view progress) {
    const auto workload = *parse_workload(
        fmt::format(R"({{"id": "a", "duration_s": 100, "speed": {{"7g.40gb": 1}}{}}})", progress),
        "jobs");
    const FleetFile fleet = fleet_in_progress("1xA100-40GB");
    SimulationOptions options;
    options.reconfiguration = Duration::zero();
    options.faults.outages.push_back(*parse_outage("n0/0@75-80", fleet));
    return *simulate(fleet, workload, *parse_scheduler("online"), options);
  };
  const RunSummary unsaid = run("");
  EXPECT_EQ(unsaid.makespan, seconds(180));
  EXPECT_EQ(unsaid.lost_work_s, 75);
  EXPECT_EQ(run(R"(, "progress": "none")").makespan, seconds(180));
  EXPECT_EQ(run(R"(, "progress": "stateless")").makespan, seconds(105));
  EXPECT_EQ(run(R"(, "progress": "checkpoint")").makespan, seconds(180)) << "none was written";
  const RunSummary writes = run(R"(, "progress": "checkpoint", "checkpoint_every_s": 30)");
  EXPECT_EQ(writes.makespan, seconds(80 + 15 + 40)) << "it goes on from 60 s";
  EXPECT_NEAR(writes.lost_work_s, 15, 1e-6);
  EXPECT_EQ(writes.restore_s, 15);
}

// A forecast stops a growing job: with checkpoints it goes on where it was, otherwise from nothing.
TEST(Progress, AnEarlyRestartSavesWhatItCan) {
  const auto run = [](std::string_view progress) {
    const auto workload = *parse_workload(
        fmt::format(
            R"({{"id": "a", "duration_s": 100, "profile": "1g.5gb", )"
            R"("law": {{"a_s": 1, "w_s": 0}}, )"
            R"("memory": {{"base_mib": 1000, "per_iteration_mib": 60, "iterations": 100}}{}}})",
            progress),
        "jobs");
    SimulationOptions options;
    options.forecaster = "trend";
    return *simulate(fleet_in_progress("1xA100-40GB"), workload, *parse_scheduler("scheme-b"),
                     options);
  };
  const RunSummary again = run(""), saved = run(R"(, "progress": "checkpoint")");
  EXPECT_EQ(again.early_restarts, 1U);
  EXPECT_EQ(saved.early_restarts, 1U);
  EXPECT_GT(again.lost_work_s, 1);
  EXPECT_EQ(saved.lost_work_s, 0);
  EXPECT_EQ(saved.checkpoint_s, 15);
  EXPECT_EQ(saved.restore_s, 15);
}

/// Jobs that are as fast on every profile, so that each needs its duration in useful work.
Workload even_jobs(std::uint64_t seed) {
  Random random(seed);
  const char* profiles[] = {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"};
  std::string jobs;
  double now = 0;
  for (int i = 0; i < 60; ++i) {
    now += random.exponential(20);
    jobs += fmt::format(R"({{"id": "j{}", "arrival_s": {}, "profile": "{}", "duration_s": {}, )"
                        R"("law": {{"a_s": 1, "w_s": 0}}{}}})"
                        "\n",
                        i, now, profiles[random.below(5)], 10 + random.exponential(80),
                        every_progress[random.below(every_progress.size())]);
  }
  return *parse_workload(jobs, "jobs");
}

// The time of jobs is their work and the overheads, to the last nanosecond of rounding: nothing is
// counted twice and nothing is left out.
TEST(Laws, WorkAndOverheadsAreAllTheTimeOfJobs) {
  const FleetFile fleet = fleet_in_progress("3xA100-40GB");
  double lost = 0, restored = 0, checkpoints = 0, started = 0, created = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Workload workload = even_jobs(seed);
    for (const char* spec : {"online:threshold=0.1", "miso", "scheme-b", "full-gpu", "dyna-p"}) {
      SimulationOptions options;
      options.seed = seed;
      options.process_start = seconds(seed % 3);
      options.world.slow_allocation = seed % 2 == 0;
      options.faults = *parse_faults("mtbf=2000;repair=100");
      const RunSummary s = *simulate(fleet, workload, *parse_scheduler(spec), options);
      if (s.finished < s.jobs) continue;  // what others of its application lack, say
      double work = 0;
      for (const Job& job : workload.jobs) work += in_seconds(job.duration);
      // A shared instance slows jobs; of the rest, every job makes progress at full speed.
      const double all = in_seconds(s.turnaround.mean) * static_cast<double>(s.jobs);
      const double overheads = s.creation_s + s.process_start_s + s.checkpoint_s + s.restore_s +
                               s.lost_work_s + s.waiting_s;
      if (std::string_view(spec) == "miso") {
        EXPECT_GT(all, work + overheads - 1e-4) << spec << " " << seed;
      } else {
        EXPECT_NEAR(all, work + overheads, 1e-4) << spec << " " << seed;
      }
      for (const double each : {s.creation_s, s.process_start_s, s.checkpoint_s, s.restore_s,
                                s.lost_work_s, s.waiting_s})
        EXPECT_GE(each, 0) << spec << " " << seed;
      lost += s.lost_work_s;
      restored += s.restore_s;
      checkpoints += s.checkpoint_s;
      started += s.process_start_s;
      created += s.creation_s;
    }
  }
  for (const double each : {lost, restored, checkpoints, started, created})
    EXPECT_GT(each, 0) << "every kind of overhead must have come up";
}

TEST(Jitter, StraysAboutTheMediansAndComesFromTheSeed) {
  const Workload workload = even_jobs(1);
  const auto run = [&](bool jitter, std::uint64_t seed) {
    SimulationOptions options;
    options.seed = seed;
    options.world.jitter = jitter;
    return *simulate(fleet_in_progress("2xA100-40GB"), workload, *parse_scheduler("online"),
                     options);
  };
  EXPECT_EQ(run(true, 5).creation_s, run(true, 5).creation_s);
  EXPECT_NE(run(true, 5).creation_s, run(true, 6).creation_s);
  EXPECT_EQ(run(false, 5).creation_s, run(false, 6).creation_s);
}

}  // namespace
}  // namespace cleave
