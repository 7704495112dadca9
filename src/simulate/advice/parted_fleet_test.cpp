#include "simulate/advice/parted_fleet.hpp"

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "model/workload_file.hpp"
#include "simulate/advice/fixed_layouts.hpp"

namespace cleave {
namespace {

FleetFile fleet_to_part(const char* short_form) {
  return *parse_fleet_in_short(short_form, ProfileChoice());
}

Workload workload_of(const std::string& lines) {
  return *parse_workload(lines, "jobs.jsonl");
}

/// Two jobs for instances, and one of two whole GPUs.
Workload both_kinds() {
  return workload_of(
      R"({"id": "a", "arrival_s": 0, "memory_mib": 4000, "duration_s": 100, "flat": true}
{"id": "b", "arrival_s": 10, "gpus": 2, "duration_s": 50}
{"id": "c", "arrival_s": 20, "memory_mib": 4000, "duration_s": 300, "flat": true}
)");
}

TEST(PartedFleet, HasWholeGpusForTheLargestJobAndTheRestForOthers) {
  const PossibleParts possible = possible_parts(fleet_to_part("4xA100-40GB"), {both_kinds()}, {});
  EXPECT_EQ(possible.why, "");
  ASSERT_EQ(possible.parts.size(), 2U);
  EXPECT_EQ(possible.parts[0].whole.gpus.size(), 2U);
  EXPECT_EQ(possible.parts[0].mig.gpus.size(), 2U);
  EXPECT_EQ(possible.parts[1].whole.gpus.size(), 3U);
  EXPECT_EQ(possible.parts[0].mig.gpus.front().name, "n0/0");
  EXPECT_EQ(possible.parts[0].whole.gpus.front().name, "n0/2");
  EXPECT_EQ(possible_parts(fleet_to_part("100xA100-40GB"), {both_kinds()}, {}).parts.size(), 4U);
}

TEST(PartedFleet, RunsEachJobOnItsPart) {
  const Workload workload = both_kinds();
  const PossibleParts possible = possible_parts(fleet_to_part("4xA100-40GB"), {workload}, {});
  std::vector<JobOutcome> outcomes;
  SimulationOptions options;
  options.outcomes = &outcomes;
  options.reconfiguration = Duration{};
  const auto run = simulate_parted(possible.parts[0], workload,
                                   *parse_scheduler("static:layout=7g.40gb@0"), options);
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ(run->finished, 3U);
  EXPECT_EQ(run->jobs, 3U);
  EXPECT_EQ(run->makespan, std::chrono::seconds(320));
  ASSERT_EQ(outcomes.size(), 3U);
  EXPECT_EQ(outcomes[0].turnaround, std::chrono::seconds(100));
  EXPECT_LE(outcomes[1].turnaround, std::chrono::seconds(50)) << "in the order of the workload";
  EXPECT_EQ(outcomes[2].turnaround, std::chrono::seconds(300));
}

TEST(PartedFleet, LayoutsSayWhichGpusHaveMig) {
  const PossibleParts possible = possible_parts(fleet_to_part("4xA100-40GB"), {both_kinds()}, {});
  const auto layouts = parted_layouts(possible.parts[1]);
  ASSERT_FALSE(layouts.empty());
  EXPECT_TRUE(layouts.front().candidate.layout.starts_with("3 GPUs with MIG off, and 1 with "))
      << layouts.front().candidate.layout;
  EXPECT_NE(layouts.front().parts, nullptr);
}

TEST(PartedFleet, SaysWhyThereIsNone) {
  const FleetFile fleet = fleet_to_part("2xA100-40GB");
  const std::string one = R"({"id": "s", "memory_mib": 4000, "duration_s": 1})";
  EXPECT_EQ(possible_parts(fleet, {workload_of(one)}, {}).why, "") << "nothing to part for";
  EXPECT_TRUE(possible_parts(fleet, {workload_of(one)}, {}).parts.empty());
  EXPECT_EQ(possible_parts(fleet, {both_kinds()}, {}).why,
            "33 % of all jobs ask for whole GPUs, which no layout has, and MIG on some GPUs only "
            "cannot be tried here: one has 2 of the 2 GPUs");
  EXPECT_EQ(
      possible_parts(fleet, {workload_of(R"({"id": "w", "gpus": 1, "duration_s": 1})")}, {}).why,
      "every job asks for whole GPUs, which no layout has");
  const Workload ordered =
      workload_of(one + "\n" + R"({"id": "w", "gpus": 1, "duration_s": 1, "after": ["ok:s"]})");
  EXPECT_TRUE(possible_parts(fleet, {ordered}, {}).why.ends_with("jobs wait for one another"));
  FleetFile mixed = fleet_to_part("3xA100-40GB");
  mixed.geometries.push_back(fleet_to_part("1xA30-24GB").geometries.front());
  EXPECT_TRUE(possible_parts(mixed, {both_kinds()}, {})
                  .why.ends_with("cannot be tried here: the fleet has several models of GPUs"));
}

}  // namespace
}  // namespace cleave
