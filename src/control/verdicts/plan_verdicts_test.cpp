#include "control/verdicts/plan_verdicts.hpp"

#include <gtest/gtest.h>

#include "control/node/node_state_test.hpp"

namespace cleave {
namespace {

using MoveKind = MoveVerdict::Kind;
constexpr GpuId first{}, second{1};

/// Job 1 on 3g.20gb at 0 of GPU 0, movable; GPU 1 is empty.
class PlanVerdicts : public testing::Test {
 protected:
  PlanVerdicts() {
    job().record.spec.movable = true;
    on_first = node.placement("3g.20gb", 0);
    node.add_instance(on_first);
    attempt = &node.add_attempt(job(), on_first);
    attempt->placed = true;
    move = {1, 1, {"GPU-0", "3g.20gb", 0}, {"GPU-1", "3g.20gb", 4}, {}, {}, 0};
    target = node.placement("3g.20gb", 4, second);
  }
  LiveJob& job() {
    if (LiveJob* there = node.state.find(1)) return *there;
    return node.add_job(1);
  }
  [[nodiscard]] MoveVerdict judged() const { return judge_move(node.state, move, {}); }
  [[nodiscard]] std::string refusal(PlanOrder order) const {
    const auto plan = plan_of(node.state, order, {});
    return plan ? "" : plan.error().text();
  }
  static std::string steps_of(const MoveVerdict& verdict) {
    constexpr std::string_view names[] = {"destroy", "create",  "start",    "share",
                                          "whole",   "replica", "hand over"};
    std::string text;
    for (const GpuStep& step : verdict.steps)
      text += std::string(names[static_cast<std::size_t>(step.kind)]) + ";";
    return text;
  }

  NodeForTest node{{"A100-SXM4-40GB", "A100-SXM4-40GB"}};
  PlacementId on_first{}, target{};
  LiveAttempt* attempt = nullptr;
  PlannedMove move;
};

TEST_F(PlanVerdicts, WhatAJobAllows) {
  JobRecord record;
  EXPECT_EQ(way_of(record), MoveWay::stays);
  record.spec.restartable = true;
  EXPECT_EQ(way_of(record), MoveWay::stays) << "it would lose its work";
  record.spec.checkpoint_signal = 10;
  record.spec.checkpoint_grace = std::chrono::seconds(20);
  record.spec.stop_grace = std::chrono::seconds(5);
  EXPECT_EQ(way_of(record), MoveWay::checkpoint);
  EXPECT_EQ(time_to_save(record), std::chrono::seconds(25));
  record.spec.movable = true;
  EXPECT_EQ(way_of(record), MoveWay::replica) << "which interrupts nothing";
  EXPECT_EQ(time_to_save(record), Duration{});
  record.spec.progress = Keeps::checkpoint;
  EXPECT_EQ(way_of(record), MoveWay::checkpoint);
  record.spec.lease.emplace();
  EXPECT_EQ(way_of(record), MoveWay::stays);
  record.spec.lease.reset();
  record.spec.request.places = 2;
  EXPECT_EQ(way_of(record), MoveWay::stays);
}

TEST_F(PlanVerdicts, ALeaseMovesWhereNobodyWorks) {
  using std::chrono::seconds;
  job().record.spec.lease.emplace();
  job().record.spec.progress = Keeps::checkpoint;
  EXPECT_EQ(way_of(job()), MoveWay::stays) << "whether somebody works is not known";
  attempt->idle.hear(std::nullopt, seconds(0));
  attempt->idle.hear(0.0, seconds(299));
  EXPECT_EQ(way_of(job()), MoveWay::stays);
  attempt->idle.hear(0.0, seconds(300));
  EXPECT_EQ(way_of(job()), MoveWay::checkpoint);
  EXPECT_EQ(steps_of(judged()), "create;hand over;");
  job().record.spec.progress = Keeps::unsaid;
  EXPECT_EQ(way_of(job()), MoveWay::stays) << "its work would be lost";
  job().record.spec.progress = Keeps::checkpoint;
  attempt->idle.hear(0.5, seconds(310));
  EXPECT_EQ(way_of(job()), MoveWay::stays);
}

TEST_F(PlanVerdicts, AMoveMakesItsPlaceAndStartsAReplica) {
  EXPECT_EQ(judged().kind, MoveKind::go);
  EXPECT_EQ(steps_of(judged()), "create;replica;");
  job().record.spec.progress = Keeps::checkpoint;
  EXPECT_EQ(steps_of(judged()), "create;hand over;");
  node.add_instance(target, ManagedInstance::State::ready, second);
  EXPECT_EQ(steps_of(judged()), "hand over;") << "an idle instance is used again";
  for (const GpuStep& step : judged().steps) node.state.gpu(second).steps.push_back(step);
  EXPECT_EQ(judged().kind, MoveKind::wait) << "the steps are there already";
}

TEST_F(PlanVerdicts, IdleInstancesInTheWayAreDestroyedAndOthersStay) {
  node.add_instance(node.placement("2g.10gb", 4, second), ManagedInstance::State::ready, second);
  const PlacementId beside = node.placement("2g.10gb", 0, second);
  node.add_instance(beside, ManagedInstance::State::ready, second);
  EXPECT_EQ(steps_of(judged()), "destroy;create;replica;");
  EXPECT_EQ(judged().steps.front().placement, node.placement("2g.10gb", 4, second));
}

TEST_F(PlanVerdicts, APlaceThatIsTakenBlocksThePlanUnlessItIsBeingLeft) {
  LiveJob& other = node.add_job(2);
  const PlacementId there = node.placement("2g.10gb", 4, second);
  node.add_instance(there, ManagedInstance::State::ready, second);
  LiveAttempt& runs = node.add_attempt(other, there, second);
  EXPECT_EQ(judged().kind, MoveKind::blocked);
  EXPECT_NE(judged().why.find("in the way"), std::string::npos) << judged().why;
  runs.record.end = AttemptEnd::moved;
  EXPECT_EQ(judged().kind, MoveKind::wait);
  node.state.gpu(second).walls = PlacementSet::of(node.placement("1g.5gb", 6, second));
  EXPECT_EQ(judged().kind, MoveKind::blocked) << "of somebody else";
  node.state.occupants.erase({second, there});
  node.state.gpu(second).instances.clear();
  node.state.gpu(second).walls = PlacementSet::of(target);
  EXPECT_EQ(judged().kind, MoveKind::blocked) << "even where it is the very same";
}

TEST_F(PlanVerdicts, AGpuThatTakesNoWorkBlocksThePlan) {
  node.state.gpu(second).drained = true;
  EXPECT_EQ(judged().kind, MoveKind::blocked);
  node.state.gpu(second).drained = false;
  node.state.gpu(second).lost = true;
  EXPECT_NE(judged().why.find("is lost"), std::string::npos);
}

TEST_F(PlanVerdicts, AMoveIsDoneWhenNothingOfTheJobIsElsewhere) {
  node.add_instance(target, ManagedInstance::State::ready, second);
  LiveAttempt& next = node.add_attempt(job(), target, second);
  next.placed = true;
  attempt->record.end = AttemptEnd::moved;
  EXPECT_EQ(judged().kind, MoveKind::wait);
  node.state.vacate({first, on_first}, {1, 1}, {});
  job().attempts.erase(1);
  EXPECT_EQ(judged().kind, MoveKind::done);
  job().record.state = JobState::finished;
  EXPECT_EQ(judged().kind, MoveKind::over);
}

TEST_F(PlanVerdicts, AJobOnItsWayIsStartedAndOneThatWaitsIsLeft) {
  job().record.spec.progress = Keeps::checkpoint;
  node.add_instance(target, ManagedInstance::State::ready, second);
  attempt->record.end = AttemptEnd::moved;
  EXPECT_EQ(judged().kind, MoveKind::wait);
  node.state.vacate({first, on_first}, {1, 1}, {});
  job().attempts.clear();
  job().main.reset();
  EXPECT_EQ(judged().kind, MoveKind::leave);
  EXPECT_TRUE(may_be_withdrawn(node.state, move));
  job().on_its_way = true;
  EXPECT_EQ(steps_of(judged()), "start;");
  EXPECT_FALSE(may_be_withdrawn(node.state, move));
  job().not_before = std::chrono::seconds(5);
  EXPECT_EQ(judged().kind, MoveKind::wait);
  job().not_before.reset();
  move.state = MovePhase::moving;
  job().record.attempts = 3;
  EXPECT_EQ(judged().kind, MoveKind::leave) << "it has been tried often enough";
}

TEST_F(PlanVerdicts, OrdersAreHeldAgainstWhatRuns) {
  const PlanOrder order{"compact", std::chrono::hours(1), {move}};
  const auto plan = plan_of(node.state, order, {});
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan->frees, std::vector<std::string>{"GPU-0"});
  EXPECT_NE(refusal({"compact", {}, {}}).find("moves nothing"), std::string::npos);
  PlanOrder wrong = order;
  wrong.moves[0].from.start = 4;
  EXPECT_NE(refusal(wrong).find("is not on"), std::string::npos) << refusal(wrong);
  wrong = order;
  wrong.moves.push_back(move);
  EXPECT_NE(refusal(wrong).find("twice in wave 1"), std::string::npos) << refusal(wrong);
  wrong.moves[1].wave = 2;
  EXPECT_NE(refusal(wrong).find("is not on"), std::string::npos) << "it has moved by then";
  wrong = order;
  wrong.moves[0].from.gpu = "0";
  wrong.moves[0].to.gpu = "1";
  EXPECT_EQ(refusal(wrong), "") << "the index does as well";
  job().record.spec.movable = false;
  EXPECT_NE(refusal(order).find("does not allow"), std::string::npos);
}

TEST_F(PlanVerdicts, NothingIsFreedWhereSomethingStays) {
  node.state.gpu(first).walls = PlacementSet::of(node.placement("1g.5gb", 6));
  EXPECT_TRUE(plan_of(node.state, {"compact", {}, {move}}, {})->frees.empty());
}

TEST_F(PlanVerdicts, TheFleetHasWorkWallsAndIdleInstances) {
  LiveJob& fixed = node.add_job(2);
  const PlacementId there = node.placement("1g.5gb", 4);
  node.add_instance(there);
  node.add_attempt(fixed, there).placed = true;
  node.add_instance(node.placement("1g.5gb", 5));
  node.add_instance(node.placement("1g.5gb", 6), ManagedInstance::State::making);
  node.state.gpu(second).drained = true;
  node.add_job(3).record.request = {ByProfile{"7g.40gb"}, {}};
  node.add_job(4).record.request = {Unknown{}, {}};
  const LiveFleet live = live_fleet_of(node.state, {});
  ASSERT_EQ(live.fleet.gpus.size(), 1U) << "one that is drained is left out";
  EXPECT_EQ(live.uuids, std::vector<std::string>{"GPU-0"});
  std::string text;
  for (const InstanceEntry& each : live.fleet.gpus[0].instances)
    text += each.workload.value_or(each.owned ? "idle" : "wall") + (each.movable ? " " : "! ");
  EXPECT_EQ(text, "job-1 job-2! idle wall ");
  ASSERT_EQ(live.work.size(), 2U);
  EXPECT_EQ(live.work[0].way, MoveWay::replica);
  EXPECT_EQ(live.work[1].way, MoveWay::stays);
  EXPECT_EQ(live.work[1].starts, std::chrono::seconds(1)) << "as it took here";
  ASSERT_EQ(live.fleet.waiting.size(), 1U);
  EXPECT_EQ(live.fleet.waiting[0].workload, "job-3");
}

}  // namespace
}  // namespace cleave
