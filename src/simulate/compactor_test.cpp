// Compaction by the policy in runs: a job that only a move can serve is served with the fewest
// moves, by what its neighbours allow; and whatever the scheduler, nothing is lost, and runs are
// repeatable.

#include <gtest/gtest.h>

#include <map>

#include "base/format.hpp"
#include "model/workload_file.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

/// What happens, job by job.
class Seen final : public RunObserver {
 public:
  void on(const RunEvent& event) override {
    if (event.kind == RunEvent::Kind::started) starts[*event.job].push_back(event.at);
    if (event.kind == RunEvent::Kind::migrated || event.kind == RunEvent::Kind::checkpointed)
      moves[*event.job].push_back(event.at);
  }
  std::map<JobId, std::vector<Instant>> starts, moves;
};

struct RanCompactor {
  RunSummary summary;
  std::vector<JobOutcome> outcomes;
  Seen seen;
};

RanCompactor run_compactor(const FleetFile& fleet, const Workload& workload, std::string_view spec,
                           std::string_view compaction, SimulationOptions options = {}) {
  RanCompactor ran;
  options.compaction = *parse_compaction(compaction);
  options.observer = &ran.seen;
  options.outcomes = &ran.outcomes;
  const auto scheduler = parse_scheduler(spec);
  auto summary = simulate(fleet, workload, *scheduler, options);
  EXPECT_TRUE(summary) << spec << ": " << summary.error().text();
  if (summary) ran.summary = std::move(*summary);
  return ran;
}

FleetFile two_gpus() {
  return *parse_fleet_in_short("2xA100-40GB", *ProfileChoice::parse("plain"));
}

/// A 3g.20gb on each of two GPUs for an hour, where there were two; and a 7g.40gb that comes at
/// 60 s, which has room after an hour, or after a move.
Workload fragmented(std::string_view allows) {
  std::string text;
  for (int i = 0; i < 4; ++i)
    text += fmt::format(
        R"({{"id": "{}", "profile": "3g.20gb", "duration_s": {}, "speed": {{"3g.20gb": 1}}{}}})"
        "\n",
        i, i < 2 ? 3600 : 30, allows);
  text += R"({"id": "large", "profile": "7g.40gb", "arrival_s": 60, "duration_s": 600, )"
          R"("speed": {"7g.40gb": 1}})"
          "\n";
  return *parse_workload(text, "jobs");
}

constexpr auto large = static_cast<JobId>(4);
/// It puts the first two on different GPUs.
constexpr const char* still = "online:migration=off";

std::size_t moves_of(const RanCompactor& ran) {
  std::size_t all = 0;
  for (const auto& [job, moves] : ran.seen.moves) all += moves.size();
  return all;
}

TEST(Compaction, ServesALargeJobThatOnlyItCanServe) {
  const Workload workload = fragmented("");
  const RanCompactor off = run_compactor(two_gpus(), workload, still, "off");
  EXPECT_GT(off.outcomes[4].wait, 3500s);
  EXPECT_EQ(off.summary.compactions, 0U);
  const RanCompactor on = run_compactor(two_gpus(), workload, still, "on");
  EXPECT_EQ(on.summary.compactions, 1U);
  EXPECT_EQ(on.summary.compaction_moves, 1U) << "the fewest";
  EXPECT_EQ(on.summary.compactions_served, 1U);
  EXPECT_EQ(moves_of(on), 1U);
  EXPECT_GE(on.outcomes[4].wait, 120s);
  EXPECT_LT(on.outcomes[4].wait, 125s) << "and the time that instances take";
  EXPECT_EQ(on.summary.finished, 5U);
}

TEST(Compaction, AJobThatSavesItsWorkPaysForIt) {
  const Workload workload = fragmented(R"(, "progress": "checkpoint")");
  SimulationOptions options;
  options.stops.checkpoint = 60s;
  const RanCompactor on = run_compactor(two_gpus(), workload, still, "on", options);
  EXPECT_EQ(on.summary.compactions_served, 1U);
  EXPECT_EQ(on.summary.checkpoint_s, 30);
  EXPECT_EQ(on.summary.restore_s, 30);
  // An hour would be saved for a minute and a bit.
  EXPECT_EQ(run_compactor(two_gpus(), workload, still, "gain=50", options).summary.compactions, 1U);
  EXPECT_EQ(run_compactor(two_gpus(), workload, still, "gain=60", options).summary.compactions, 0U);
}

TEST(Compaction, WhatMayNotMoveStays) {
  const Workload fixed = fragmented(R"(, "movable": false, "restartable": false)");
  EXPECT_EQ(run_compactor(two_gpus(), fixed, still, "on").summary.compactions, 0U);
  const Workload anew = fragmented(R"(, "progress": "none")");
  EXPECT_EQ(run_compactor(two_gpus(), anew, still, "on").summary.compactions, 0U);
  SimulationOptions never;
  never.may = MayInterrupt::never;
  EXPECT_EQ(run_compactor(two_gpus(), fragmented(""), still, "on", never).summary.compactions, 0U);
}

TEST(Compaction, OnlyAtItsHours) {
  const Workload workload = fragmented("");
  const RanCompactor later = run_compactor(two_gpus(), workload, still, "hours=00:30-01:00");
  EXPECT_EQ(later.summary.compactions_served, 1U);
  EXPECT_GE(later.outcomes[4].wait, 29min);
  EXPECT_LT(later.outcomes[4].wait, 30min);
}

TEST(Compaction, TheJobThatItIsForHasTheRoom) {
  for (const char* spec :
       {"online:migration=off;backfill=easy", "scheme-b:backfill=easy", "scheme-a", "adaptive"}) {
    const RanCompactor on = run_compactor(two_gpus(), fragmented(""), spec, "on");
    EXPECT_EQ(on.summary.compactions_served, on.summary.compactions) << spec;
    EXPECT_LE(on.summary.compaction_moves, 1U) << spec;
    EXPECT_LT(on.outcomes[4].wait, 130s) << spec;
  }
}

TEST(Compaction, IsRefusedWhereTheSchedulerKeepsALayout) {
  for (const char* spec : {"static", "full-gpu"}) {
    SimulationOptions options;
    options.compaction = CompactionRules();
    const auto refused = simulate(two_gpus(), fragmented(""), *parse_scheduler(spec), options);
    ASSERT_FALSE(refused) << spec;
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_usage);
  }
}

TEST(Compaction, LosesNothingWithAnyScheduler) {
  std::size_t plans = 0;
  const auto fleet = *parse_fleet_in_short("4xA100-40GB", ProfileChoice());
  for (const SchedulerRow& row : schedulers()) {
    if (row.furnishes || row.whole_gpus || row.truth) continue;
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const auto workload = *generate_workload("lab-day", seed);
      SimulationOptions options;
      options.seed = seed;
      options.faults.between_losses = seed == 2 ? std::optional<Duration>(6h) : std::nullopt;
      options.faults.repair = 10min;
      const char* rules = "when_waiting=30 s;gain=0;at_most=3 moves/10 min per job";
      const RanCompactor ran = run_compactor(fleet, workload, row.name, rules, options);
      EXPECT_EQ(
          ran.summary.finished + ran.summary.failed + ran.summary.rejected + ran.summary.waiting,
          ran.summary.jobs);
      EXPECT_EQ(ran.summary.waiting, 0U) << row.name << " " << seed;
      EXPECT_LE(ran.summary.compactions_served, ran.summary.compactions);
      plans += ran.summary.compactions;
      if (seed != 1) continue;
      const RanCompactor again = run_compactor(fleet, workload, row.name, rules, options);
      EXPECT_EQ(again.summary.makespan, ran.summary.makespan) << row.name;
      EXPECT_EQ(again.summary.compaction_moves, ran.summary.compaction_moves);
    }
  }
  EXPECT_GT(plans, 20U);
}

}  // namespace
}  // namespace cleave
