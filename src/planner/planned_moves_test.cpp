#include "planner/planned_moves.hpp"

#include <gtest/gtest.h>

#include "planner/fleets_test.hpp"
#include "planner/planner.hpp"

namespace cleave {
namespace {

using namespace testing_fleets;

const std::vector<std::string> uuids = {"GPU-a", "GPU-b", "GPU-c"};

TEST(PlannedMoves, SayWhereEachJobIsInEachWave) {
  const Made made =
      make(fleet("A100-40GB", {"job-1 3g.20gb@0", "job-22 3g.20gb@4"}), ProblemKind::compact);
  const auto plan = make_plan(made.problem, {});
  ASSERT_TRUE(plan) << plan.error().text();
  const auto moves = planned_moves(made.problem, plan->moves, uuids);
  ASSERT_TRUE(moves) << moves.error().text();
  ASSERT_EQ(moves->size(), 1U);
  const PlannedMove& move = moves->front();
  EXPECT_EQ(move.wave, 1);
  EXPECT_TRUE(move.job == 1 || move.job == 22);
  EXPECT_EQ(move.from.gpu, move.job == 1 ? "GPU-a" : "GPU-b");
  EXPECT_EQ(move.to.gpu, move.job == 1 ? "GPU-b" : "GPU-a");
  EXPECT_EQ(move.to.profile, "3g.20gb");
}

TEST(PlannedMoves, GoOnFromATemporaryPlace) {
  // Two that change places, with room aside.
  const Made made =
      make(fleet("A100-40GB", {"job-1 2g.10gb@0, job-2 2g.10gb@2", ""}), ProblemKind::compact);
  Target target{goal_of_now(made.problem), std::vector<PlacementSet>(2)};
  std::swap(target.goal[0], target.goal[1]);
  const Moves moves = plan_moves(made.problem, target, {});
  const auto all = planned_moves(made.problem, moves, uuids);
  ASSERT_TRUE(all) << all.error().text();
  ASSERT_GT(all->size(), 2U) << "one of them steps aside first";
  std::map<std::int64_t, PlannedPlace> at;
  for (const PlannedMove& each : *all) {
    if (at.contains(each.job)) {
      EXPECT_EQ(at[each.job], each.from);
    }
    at[each.job] = each.to;
  }
  EXPECT_EQ(at[1].start, 2);
  EXPECT_EQ(at[2].start, 0);
}

TEST(PlannedMoves, LeaveNewWorkToTheScheduler) {
  const Made made =
      make(fleet("A100-40GB", {"job-1 3g.20gb@0", ""}, {"job-2 7g.40gb"}), ProblemKind::joint);
  const auto plan = make_plan(made.problem, {});
  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_FALSE(plan->moves.waves.empty());
  ASSERT_TRUE(plan->goal[1]) << "it has a place in the plan";
  const auto moves = planned_moves(made.problem, plan->moves, uuids);
  ASSERT_TRUE(moves) << moves.error().text();
  for (const PlannedMove& each : *moves) EXPECT_EQ(each.job, 1);
}

TEST(PlannedMoves, RefuseWorkThatIsNoJobOrWouldBeStopped) {
  const Made strange =
      make(fleet("A100-40GB", {"web 3g.20gb@0", "job-22 3g.20gb@4"}), ProblemKind::compact);
  Target target{goal_of_now(strange.problem), std::vector<PlacementSet>(2)};
  target.goal[0] = Seat{GpuId{1}, *strange.problem.geometry(GpuId{1}).find("3g.20gb", 0)};
  EXPECT_FALSE(planned_moves(strange.problem, plan_moves(strange.problem, target, {}), uuids));
  target.goal[0].reset();
  const auto stopped =
      planned_moves(strange.problem, plan_moves(strange.problem, target, {}), uuids);
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().text().find("would stop it"), std::string::npos);
}

}  // namespace
}  // namespace cleave
