// Figures of what jobs go through: slowdown, disruptions, waits, and who held how much, by hand and
// against sums that are counted elsewhere.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/random.hpp"
#include "model/workload_file.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

using std::chrono::seconds;

struct RanMeasured {
  RunSummary summary;
  std::vector<JobOutcome> outcomes;
};

RanMeasured run(std::string_view fleet, const Workload& workload, std::string_view scheduler,
                SimulationOptions options = {}) {
  RanMeasured ran;
  options.outcomes = &ran.outcomes;
  const auto summary = simulate(*parse_fleet_in_short(fleet, ProfileChoice::plain()), workload,
                                *parse_scheduler(scheduler), options);
  EXPECT_TRUE(summary) << summary.error().text();
  ran.summary = *summary;
  return ran;
}

RanMeasured run(std::string_view fleet, const std::string& jobs, std::string_view scheduler) {
  SimulationOptions options;
  options.reconfiguration = Duration::zero();
  return run(fleet, *parse_workload(jobs, "jobs"), scheduler, options);
}

TEST(Measures, BoundedSlowdownByHand) {
  // One after the other on a whole GPU: turnarounds of 4, 104 and 144 s.
  const RanMeasured ran = run("1xA30-24GB",
                              R"({"id":"a","duration_s":4,"speed":{"4g.24gb":1}}
{"id":"b","duration_s":100,"speed":{"1g.6gb":0.5,"4g.24gb":1}}
{"id":"c","duration_s":40,"speed":{"1g.6gb":0.25,"4g.24gb":1}})",
                              "full-gpu");
  ASSERT_EQ(ran.summary.slowdown.count, 3U);
  EXPECT_DOUBLE_EQ(*ran.outcomes[0].slowdown, 1) << "4 s count as 10, and never below 1";
  EXPECT_DOUBLE_EQ(*ran.outcomes[1].slowdown, 1.04);
  EXPECT_DOUBLE_EQ(*ran.outcomes[2].slowdown, 3.6);
  EXPECT_DOUBLE_EQ(ran.summary.slowdown.mean, (1 + 1.04 + 3.6) / 3);
  EXPECT_DOUBLE_EQ(ran.summary.slowdown.max, 3.6);
  EXPECT_EQ(ran.summary.first_wait_max, seconds(104));
}

TEST(Measures, TheShortestRunTimeIsThatOfTheFleetWhateverIsAskedFor) {
  const RanMeasured ran = run("1xA30-24GB",
                              R"({"id":"a","profile":"1g.6gb","duration_s":50,)"
                              R"("speed":{"1g.6gb":0.25,"2g.12gb":0.8,"4g.24gb":0.5}})",
                              "online");
  EXPECT_DOUBLE_EQ(*ran.outcomes[0].slowdown, 200 / 62.5);
}

TEST(Measures, PercentilesOfRatiosByRank) {
  std::vector<double> values(200);
  std::iota(values.rbegin(), values.rend(), 1);
  const Ratios ratios = Ratios::of(values);
  EXPECT_DOUBLE_EQ(ratios.mean, 100.5);
  EXPECT_DOUBLE_EQ(ratios.p95, 190);
  EXPECT_DOUBLE_EQ(ratios.p99, 198);
  EXPECT_DOUBLE_EQ(ratios.max, 200);
  EXPECT_EQ(Ratios::of({}).count, 0U);
}

/// By their places among all values in order, the definition.
TEST(Measures, PercentilesAreThoseOfSortedValues) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<Duration> times;
    std::vector<double> ratios;
    // From all equal to a few that are a billion times the others.
    const double spread = static_cast<double>(random.below(10));
    for (std::size_t i = 0, count = 1 + random.below(500); i < count; ++i) {
      const double draw = std::pow(10, std::floor(random.uniform() * 3) / 3 * spread);
      times.emplace_back(std::llround(draw * (random.below(2) == 0 ? 1 : random.uniform())));
      ratios.push_back(draw);
    }
    const Distribution of_times = Distribution::of(times);
    const Ratios of_ratios = Ratios::of(ratios);
    std::ranges::sort(times);
    std::ranges::sort(ratios);
    const auto place = [&](std::size_t percent) { return (percent * times.size() + 99) / 100 - 1; };
    EXPECT_EQ(of_times.p50, times[place(50)]);
    EXPECT_EQ(of_times.p95, times[place(95)]);
    EXPECT_EQ(of_times.p98, times[place(98)]);
    EXPECT_EQ(of_times.p99, times[place(99)]);
    EXPECT_EQ(of_times.max, times.back());
    EXPECT_EQ(of_ratios.p95, ratios[place(95)]);
    EXPECT_EQ(of_ratios.p99, ratios[place(99)]);
    EXPECT_EQ(of_ratios.max, ratios.back());
  }
}

TEST(Measures, WhatNeverStartsWaitsUntilTheEnd) {
  // Each needs the only GPU, which is lost for good at 50 s.
  SimulationOptions options;
  options.reconfiguration = Duration::zero();
  options.faults.outages = {{GpuId{}, Instant{} + seconds(50), Instant::max()}};
  const auto workload = *parse_workload(
      R"({"id":"a","duration_s":20,"profile":"4g.24gb","speed":{"4g.24gb":1}}
{"id":"b","arrival_s":10,"duration_s":20,"profile":"4g.24gb","speed":{"4g.24gb":1}}
{"id":"c","arrival_s":30,"duration_s":100,"profile":"4g.24gb","speed":{"4g.24gb":1}}
{"id":"d","arrival_s":60,"duration_s":5,"profile":"4g.24gb","speed":{"4g.24gb":1}}
{"id":"e","arrival_s":100,"duration_s":5,"profile":"4g.24gb","speed":{"4g.24gb":1}})",
      "jobs");
  const RanMeasured lost = run("1xA30-24GB", workload, "online", options);
  EXPECT_EQ(lost.summary.finished, 2U);
  EXPECT_EQ(lost.summary.waiting, 3U) << "c has begun once";
  EXPECT_EQ(lost.summary.first_wait_max, seconds(40)) << "d, until nothing more happens at 100 s";
  // Where there is no instance for it, none of them waits.
  const RanMeasured refused =
      run("1xA30-24GB", workload, "static:layout=2g.12gb@0+2g.12gb@2", options);
  EXPECT_EQ(refused.summary.rejected, 5U);
  EXPECT_EQ(refused.summary.first_wait_max, seconds(0)) << "what is rejected does not wait";
}

TEST(Measures, DisruptionsAreAllThatIsCountedByKind) {
  std::size_t seen = 0;
  for (const char* scheduler :
       {"online:threshold=0.9", "miso", "dyna-p:beta=100000", "scheme-b", "full-gpu"})
    for (const char* generator : {"lab-day", "migm:Ht2"}) {
      const auto workload = generate_workload(generator, 3);
      if (!workload) continue;
      SimulationOptions options;
      options.faults = *parse_faults("mtbf=40000;repair=900");
      const RanMeasured ran = run("3xA100-40GB", *workload, scheduler, options);
      const RunSummary& s = ran.summary;
      std::size_t sum = 0, most = 0;
      for (const JobOutcome& outcome : ran.outcomes) {
        sum += outcome.disruptions;
        most = std::max<std::size_t>(most, outcome.disruptions);
      }
      EXPECT_EQ(sum, s.migrations + s.restarts + s.checkpoints + s.early_restarts + s.oom_restarts)
          << scheduler;
      EXPECT_EQ(most, s.disruptions_max);
      EXPECT_EQ(s.rejected + s.waiting, 0U);
      EXPECT_DOUBLE_EQ(*s.disruptions_mean, static_cast<double>(sum) / static_cast<double>(s.jobs));
      seen += sum;
    }
  EXPECT_GT(seen, 100U);
}

/// Every second job belongs to nobody.
Workload owned(Workload workload) {
  for (std::size_t i = 0; i < workload.jobs.size(); i += 2) {
    JobDetails details;
    if (const JobDetails* known = workload.details_of(workload.jobs[i])) details = *known;
    details.user = fmt::format("u{}", i % 3);
    workload.jobs[i].details = static_cast<std::uint32_t>(workload.details.size());
    workload.details.push_back(details);
  }
  return workload;
}

TEST(Measures, SlicesThatJobsHoldAddUpToWhatTheFleetHolds) {
  const Workload workload = owned(*generate_workload("lab-day", 2));
  for (const char* scheduler : {"full-gpu", "online", "miso", "static:sharing=mps;sharers=3",
                                "dyna-p", "static:sharing=time-slicing"}) {
    const RanMeasured ran = run("3xA100-40GB", workload, scheduler);
    HeldSlices sum;
    for (const JobOutcome& outcome : ran.outcomes) {
      ASSERT_TRUE(outcome.held);
      sum.compute_s += outcome.held->compute_s;
      sum.memory_s += outcome.held->memory_s;
    }
    const double all = in_seconds(ran.summary.makespan) * 3;
    EXPECT_NEAR(sum.compute_s, ran.summary.compute_utilization * 7 * all, 1e-6 * all) << scheduler;
    EXPECT_NEAR(sum.memory_s, ran.summary.memory_allocated_utilization * 8 * all, 1e-6 * all)
        << scheduler;
  }
  const RanMeasured nobody = run("3xA100-40GB", *generate_workload("lab-day", 2), "online");
  EXPECT_FALSE(nobody.outcomes.front().held) << "jobs name no users";
}

}  // namespace
}  // namespace cleave
