// Simulations in several threads at once; the thread sanitizer watches these.

#include <gtest/gtest.h>

#include <thread>

#include "base/json.hpp"
#include "model/workload_file.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/side_by_side.hpp"

namespace cleave {
namespace {

TEST(Threads, RunsOnTheSameWorkloadShareNothingTheyWrite) {
  const FleetFile fleet = *parse_fleet_in_short("4xA100-40GB", ProfileChoice());
  const Workload workload = *generate_workload("lab-day", 1);
  const SchedulerSpec spec = *parse_scheduler("online");
  std::vector<std::string> answers(4);
  {
    std::vector<std::jthread> threads;
    for (std::string& answer : answers)
      threads.emplace_back([&] { answer = to_json(*simulate(fleet, workload, spec)).dump(); });
  }
  for (const std::string& answer : answers) EXPECT_EQ(answer, answers.front());
}

TEST(Threads, ComparedRunsAreTheSameInAnyNumberOfThem) {
  ComparisonPlan plan;
  plan.fleet = *parse_fleet_in_short("4xA100-40GB", ProfileChoice());
  plan.specs = {*parse_scheduler("full-gpu"), *parse_scheduler("online")};
  plan.simulation.faults = *parse_faults("mtbf=20000;repair=900;job-failure=0.05");
  for (const std::uint64_t seed : {3U, 4U, 5U}) {
    plan.seeds.push_back(seed);
    plan.workloads.push_back(*generate_workload("lab-day", seed));
  }
  const auto answer = [&](std::size_t threads) {
    std::vector<int> ended(plan.seeds.size() * plan.specs.size());
    Json told = Json::array();
    const auto runs = run_side_by_side(
        plan, threads,
        [&](std::size_t run) {
          ++ended[run];
          return Progress();
        },
        [&](std::size_t seed, const std::vector<std::vector<JobOutcome>>& by_scheduler) {
          EXPECT_EQ(seed, told.size()) << "in their order";
          Json& of = told.emplace_back();
          for (const std::vector<JobOutcome>& outcomes : by_scheduler)
            for (const JobOutcome& outcome : outcomes) of.push_back(outcome.turnaround.count());
          return Result<void>();
        });
    EXPECT_EQ(told.size(), plan.seeds.size());
    EXPECT_TRUE(runs) << runs.error().text();
    EXPECT_EQ(ended, std::vector<int>(ended.size(), 1));
    Json json = to_json(compare(runs->seeds));
    json["told"] = told;
    for (const SeedRuns& seed : runs->seeds)
      for (const RunSummary& run : seed.runs) json["runs"].push_back(to_json(run));
    return json.dump();
  };
  const std::string one = answer(1);
  for (const std::size_t threads : {2U, 5U, 20U}) EXPECT_EQ(answer(threads), one) << threads;
}

TEST(Threads, NothingIsToldOfOutcomesAfterAFailure) {
  ComparisonPlan plan;
  plan.fleet = *parse_fleet_in_short("1xA100-40GB", ProfileChoice());
  plan.specs = {*parse_scheduler("online")};
  plan.workloads.push_back(*generate_workload("lab-day", 1));
  plan.seeds = {1, 2, 3, 4};
  for (const std::size_t threads : {1U, 4U}) {
    std::size_t told = 0;
    const auto runs = run_side_by_side(
        plan, threads, [](std::size_t) { return Progress(); },
        [&](std::size_t, const auto&) -> Result<void> {
          if (++told == 2) return fail(ErrorKind::internal, "file", "the disk is full", "");
          return {};
        });
    ASSERT_FALSE(runs);
    EXPECT_EQ(runs.error().message, "the disk is full");
    EXPECT_EQ(told, 2U);
  }
}

}  // namespace
}  // namespace cleave
