// Planned compaction in runs: nothing is lost, and never more jobs move at once than allowed.

#include <gtest/gtest.h>

#include <map>

#include "simulate/generate/generate.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

/// Counts what moves at each instant.
class MovesByInstant final : public RunObserver {
 public:
  void on(const RunEvent& event) override {
    if (event.kind == RunEvent::Kind::migrated) ++at[event.at];
    if (event.kind == RunEvent::Kind::started) ++started;
  }
  std::map<Instant, std::size_t> at;
  std::size_t started = 0;
};

struct RanCompaction {
  RunSummary summary;
  MovesByInstant moves;
};

RanCompaction run_compaction(const char* generator, std::uint64_t seed, const char* spec) {
  const auto fleet = parse_fleet_in_short("6xA100-40GB", ProfileChoice());
  const auto workload = generate_workload(generator, seed);
  const auto scheduler = parse_scheduler(spec);
  EXPECT_TRUE(fleet && workload && scheduler);
  RanCompaction ran;
  SimulationOptions options;
  options.seed = seed;
  options.observer = &ran.moves;
  auto summary = simulate(*fleet, *workload, *scheduler, options);
  EXPECT_TRUE(summary) << summary.error().text();
  if (summary) ran.summary = std::move(*summary);
  return ran;
}

TEST(PlannedCompaction, MovesNoMoreThanAllowedAndLosesNothing) {
  std::size_t moved = 0;
  for (const char* generator : {"normal-25", "long-25", "lab-day"})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const RanCompaction ran =
          run_compaction(generator, seed, "online:migration=off;compact=300;moves=3");
      EXPECT_EQ(ran.summary.finished + ran.summary.failed + ran.summary.rejected, ran.summary.jobs)
          << generator << " " << seed;
      EXPECT_EQ(ran.summary.waiting, 0U);
      std::size_t all = 0;
      for (const auto& [instant, moves] : ran.moves.at) {
        EXPECT_LE(moves, 3U) << generator << " " << seed;
        all += moves;
      }
      EXPECT_EQ(ran.summary.migrations, all);
      moved += all;
      const RanCompaction again =
          run_compaction(generator, seed, "online:migration=off;compact=300;moves=3");
      EXPECT_EQ(ran.summary.makespan, again.summary.makespan);
      EXPECT_EQ(ran.summary.migrations, again.summary.migrations);
    }
  EXPECT_GT(moved, 50U);
}

TEST(PlannedCompaction, WhatItCannotDoIsSaid) {
  const auto fleet = parse_fleet_in_short("2xA100-40GB", ProfileChoice());
  const auto workload = generate_workload("normal-25:jobs=3", 1);
  ASSERT_TRUE(fleet && workload);
  for (const char* spec : {"online:compact=0", "online:compact=never", "online:moves=0;compact=60",
                           "online:compact=60;dynamic=off"}) {
    const auto scheduler = parse_scheduler(spec);
    ASSERT_TRUE(scheduler) << spec;
    EXPECT_FALSE(simulate(*fleet, *workload, *scheduler)) << spec;
  }
}

}  // namespace
}  // namespace cleave
