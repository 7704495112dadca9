// The decision of when jobs move for one that waits.

#include "planner/compaction_policy.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using namespace std::chrono_literals;

constexpr Instant noon{12h};

/// Two A100, a 3g job on each, and a 7g job that has waited for ten minutes.
class CompactionPolicy : public testing::Test {
 protected:
  CompactionPolicy() {
    for (std::int64_t job = 1; job <= 2; ++job) {
      RoomGpu& gpu = scene_.gpus.emplace_back();
      gpu.works.push_back({place("3g.20gb", 0), true, 30s, 40s, job});
    }
    scene_.geometries = {&geometry_};
    scene_.waiting.push_back({9, noon - 10min, ask("7g.40gb"), {}});
    scene_.now = noon;
    scene_.since_midnight = 12h;
  }

  [[nodiscard]] PlacementId place(const char* profile, int start) const {
    return *geometry_.find(profile, start);
  }
  [[nodiscard]] RoomAsk ask(const char* profile) const {
    RoomAsk ask;
    PlacementSet& set = ask.candidates.emplace_back();
    for (const PlacementId each : geometry_.all())
      if (geometry_[each].profile->name == profile) set.insert(each);
    return ask;
  }
  [[nodiscard]] CompactionDecision decide() const {
    return decide_compaction(rules_, scene_, history_);
  }

  Geometry geometry_{**find_gpu_model("A100-40GB"),
                     ProfileChoice().on(**find_gpu_model("A100-40GB"))};
  CompactionRules rules_;
  CompactionScene scene_;
  MoveHistory history_;
};

TEST_F(CompactionPolicy, OneMoveServesTheJobThatWaits) {
  const auto decision = decide();
  ASSERT_TRUE(decision.plan);
  EXPECT_EQ(decision.plan->job, 9);
  EXPECT_EQ(decision.plan->fewest, 1U);
  ASSERT_EQ(decision.plan->room.moves.size(), 1U);
  EXPECT_EQ(decision.plan->room.moves[0].to.placement, place("3g.20gb", 4));
  EXPECT_EQ(decision.plan->saved, 10min - 40s);  // as long again as it has waited
  EXPECT_EQ(decision.plan->room_at, noon + 40s);
}

TEST_F(CompactionPolicy, NothingBeforeTheWaitIsLongEnough) {
  scene_.waiting[0].since = noon - 90s;
  EXPECT_FALSE(decide().plan);
  EXPECT_EQ(decide().look_again, noon + 30s);
  scene_.waiting[0].since = noon - 2min;
  EXPECT_TRUE(decide().plan);
}

TEST_F(CompactionPolicy, OnlyWhereItSavesEnough) {
  scene_.ends = {{1, noon + 100s}, {2, noon + 1h}};
  EXPECT_TRUE(decide().plan);  // 60 s saved for 30 s
  scene_.ends[1] = noon + 99s;
  const auto decision = decide();
  EXPECT_FALSE(decision.plan);
  EXPECT_NE(decision.why_not.find("1 move would be interrupted for 30 s"), std::string::npos)
      << decision.why_not;
  EXPECT_EQ(decision.look_again, noon + 2min);
  rules_.gain = 1;
  EXPECT_TRUE(decide().plan);
  scene_.waiting[0].expected = noon + 40s;  // the scheduler knows better
  EXPECT_FALSE(decide().plan);
}

TEST_F(CompactionPolicy, WhatMayNotMoveStays) {
  scene_.gpus[0].works[0].movable = scene_.gpus[1].works[0].movable = false;
  EXPECT_FALSE(decide().plan);
  EXPECT_NE(decide().why_not.find("job 9: no plan"), std::string::npos) << decide().why_not;
  scene_.gpus[1].works[0].movable = true;
  ASSERT_TRUE(decide().plan);
  EXPECT_EQ(decide().plan->room.moves[0].from.gpu, 1U);
  scene_.gpus[0].walls.insert(place("1g.5gb", 6));  // in the way there
  EXPECT_FALSE(decide().plan);
}

TEST_F(CompactionPolicy, NoJobMovesMoreOftenThanAllowed) {
  history_.note(1, noon - 29min);
  ASSERT_TRUE(decide().plan);
  EXPECT_EQ(decide().plan->room.moves[0].from.gpu, 1U);
  history_.note(2, noon - 29min);
  EXPECT_FALSE(decide().plan);
  rules_.moves = 2;
  EXPECT_TRUE(decide().plan);
  rules_.moves = 1;
  scene_.now += 1min;
  EXPECT_TRUE(decide().plan);
  history_.forget(rules_, scene_.now);
  EXPECT_TRUE(history_.may_move(1, rules_, scene_.now));
}

TEST_F(CompactionPolicy, OnlyAtItsHours) {
  rules_.hours = DayHours{22 * 60, 6 * 60};
  EXPECT_FALSE(decide().plan);
  EXPECT_EQ(decide().look_again, noon + 10h);
  scene_.since_midnight = 5h;
  EXPECT_TRUE(decide().plan);
}

TEST_F(CompactionPolicy, OnlyTheFirstWhereOrderCounts) {
  scene_.waiting.insert(scene_.waiting.begin(), {8, noon - 1min, ask("7g.40gb"), {}});
  EXPECT_TRUE(decide().plan);
  scene_.in_order = true;
  EXPECT_FALSE(decide().plan);
  EXPECT_EQ(decide().look_again, noon + 1min);
}

TEST_F(CompactionPolicy, WhatHasRoomNeedsNoPlan) {
  scene_.waiting[0].ask = ask("3g.20gb");
  EXPECT_FALSE(decide().plan);
  EXPECT_TRUE(decide().why_not.empty()) << decide().why_not;
}

}  // namespace
}  // namespace cleave
