#include "device/layout_change.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <queue>

#include "base/random.hpp"
#include "model/layout_text.hpp"

namespace cleave {
namespace {

const GpuModel& a100() {
  return **find_gpu_model("A100-40GB");
}

Geometry geometry_of(const char* profiles) {
  return {a100(), ProfileChoice::parse(profiles)->on(a100())};
}

PlacementSet set_of(const Geometry& geometry, std::string_view layout) {
  PlacementSet set;
  const auto written = parse_layout(layout, geometry);
  EXPECT_TRUE(written);
  for (const auto& [profile, start] : *written) set.insert(*geometry.find(*profile, start));
  return set;
}

std::vector<StandingInstance> standing_of(PlacementSet ours, PlacementSet foreign = {},
                                          PlacementSet busy = {}) {
  std::vector<StandingInstance> standing;
  for (const PlacementId id : ours | foreign)
    standing.push_back({.placement = id,
                        .ours = ours.contains(id),
                        .busy = busy.contains(id),
                        .usable = true,
                        .half_made = false,
                        .name = "instance " + std::to_string(id),
                        .take_over = {}});
  return standing;
}

std::vector<PlacementSet> maximal_states(const Geometry& geometry) {
  std::vector<PlacementSet> states{PlacementSet()}, maximal;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const PlacementSet state = states[i], free = geometry.free(state);
    if (free.empty()) maximal.push_back(state);
    // Each state once: placements are added in ascending order.
    for (const PlacementId id : free)
      if (state.empty() || id > state.last()) states.push_back(state | PlacementSet::of(id));
  }
  return maximal;
}

std::vector<WantedInstance> wanted(const Geometry& geometry, PlacementSet state, bool with_starts) {
  std::vector<WantedInstance> goal;
  for (const PlacementId id : state)
    goal.push_back({geometry[id].profile,
                    with_starts ? std::optional<int>(geometry[id].start) : std::optional<int>()});
  return goal;
}

/// Whether the state, without foreign instances that were not named, is the goal.
bool is_goal(const Geometry& geometry, PlacementSet state, PlacementSet walls,
             const std::vector<WantedInstance>& goal) {
  PlacementSet left = state;
  std::vector<const Profile*> loose, there;
  for (const WantedInstance& each : goal) {
    if (!each.start) {
      loose.push_back(each.profile);
      continue;
    }
    const auto id = geometry.find(*each.profile, *each.start);
    if (!id || !left.contains(*id)) return false;
    left.erase(*id);
  }
  for (const PlacementId id : left - walls) there.push_back(geometry[id].profile);
  std::ranges::sort(loose);
  std::ranges::sort(there);
  return loose == there;
}

/// The slow way: all legal states that single destroys and creates reach, nearest first.
std::optional<std::pair<int, int>> fewest_steps(const Geometry& geometry, PlacementSet now,
                                                PlacementSet walls,
                                                const std::vector<WantedInstance>& goal) {
  using Cost = std::pair<int, int>;  // destroys, creates
  using Entry = std::pair<Cost, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::map<std::uint32_t, Cost> best{{now.bits(), {0, 0}}};
  queue.push({{0, 0}, now.bits()});
  while (!queue.empty()) {
    const auto [cost, bits] = queue.top();
    queue.pop();
    const PlacementSet state(bits);
    if (best[bits] < cost) continue;
    if (is_goal(geometry, state, walls, goal)) return cost;
    const auto reach = [&](PlacementSet next, Cost to) {
      const auto [at, fresh] = best.emplace(next.bits(), to);
      if (!fresh && at->second <= to) return;
      at->second = to;
      queue.push({to, next.bits()});
    };
    for (const PlacementId id : state - walls)
      reach(state - PlacementSet::of(id), {cost.first + 1, cost.second});
    for (const PlacementId id : geometry.free(state))
      reach(state | PlacementSet::of(id), {cost.first, cost.second + 1});
  }
  return {};
}

/// Takes the steps one after another and checks each.
void holds(const Geometry& geometry, const LayoutChange& change, PlacementSet walls,
           const std::vector<WantedInstance>& goal) {
  PlacementSet state = change.now;
  int destroys = 0, creates = 0;
  for (const LayoutStep& step : change.steps) {
    if (step.kind == LayoutStep::Kind::destroy) {
      ASSERT_TRUE(state.contains(step.placement));
      ASSERT_FALSE(walls.contains(step.placement));
      state.erase(step.placement);
      ++destroys;
    } else {
      ASSERT_TRUE(geometry.free(state).contains(step.placement)) << layout_text(geometry, state);
      state.insert(step.placement);
      ++creates;
    }
  }
  EXPECT_EQ(state, change.result);
  EXPECT_TRUE(is_goal(geometry, state, walls, goal)) << layout_text(geometry, state);
  EXPECT_EQ(destroys, change.destroys());
  EXPECT_EQ(creates, change.creates());
}

void agrees(const Geometry& geometry, PlacementSet ours, PlacementSet walls,
            const std::vector<WantedInstance>& goal) {
  const auto change = plan_layout_change(geometry, standing_of(ours, walls), goal);
  const auto fewest = fewest_steps(geometry, ours | walls, walls, goal);
  ASSERT_EQ(change.has_value(), fewest.has_value())
      << layout_text(geometry, ours) << " beside " << layout_text(geometry, walls)
      << (change ? "" : change.error().text());
  if (!change) return;
  holds(geometry, *change, walls, goal);
  EXPECT_EQ(std::pair(change->destroys(), change->creates()), *fewest);
}

TEST(LayoutChange, EveryPairOfMaximalLayoutsTakesTheFewestSteps) {
  const Geometry geometry = geometry_of("five");
  const auto states = maximal_states(geometry);
  ASSERT_EQ(states.size(), 19U);
  for (const PlacementSet from : states)
    for (const PlacementSet to : states)
      for (const bool with_starts : {true, false})
        agrees(geometry, from, {}, wanted(geometry, to, with_starts));
}

TEST(LayoutChange, RandomPairsBesideForeignInstancesTakeTheFewestSteps) {
  const Geometry geometry = geometry_of("five");
  Random random(8);
  const auto state_with = [&](PlacementSet state, int most) {
    for (int i = 0; i < most; ++i) {
      const PlacementSet free = geometry.free(state);
      if (free.empty()) break;
      auto skip = random.below(static_cast<std::uint64_t>(free.size()));
      for (const PlacementId id : free)
        if (skip-- == 0) state.insert(id);
    }
    return state;
  };
  int planned = 0;
  for (int round = 0; round < 2000; ++round) {
    const PlacementSet walls = state_with({}, static_cast<int>(random.below(3)));
    const PlacementSet ours = state_with(walls, static_cast<int>(random.below(6))) - walls;
    // A goal that may or may not fit beside the foreign instances, and may name them.
    const PlacementSet to = random.below(4) == 0 ? state_with({}, 5) : state_with(walls, 5);
    std::vector<WantedInstance> goal =
        wanted(geometry, random.below(2) == 0 ? to : to - walls, true);
    for (WantedInstance& each : goal)
      if (random.below(2) == 0 && !walls.contains(*geometry.find(*each.profile, *each.start)))
        each.start.reset();
    agrees(geometry, ours, walls, goal);
    planned += plan_layout_change(geometry, standing_of(ours, walls), goal).has_value() ? 1 : 0;
  }
  EXPECT_GT(planned, 1000);
  EXPECT_LT(planned, 2000) << "some must be refused";
}

TEST(LayoutChange, BusyInstancesStayAndMoveTheOthers) {
  const Geometry geometry = geometry_of("five");
  const PlacementSet now = set_of(geometry, "3g.20gb@4,1g.5gb@0,1g.5gb@3");
  const PlacementSet busy = set_of(geometry, "1g.5gb@3");
  const auto stays = plan_layout_change(geometry, standing_of(now, {}, busy),
                                        *parse_wanted_layout("3g.20gb,2g.10gb,1g.5gb", geometry));
  ASSERT_TRUE(stays) << stays.error().text();
  EXPECT_EQ(layout_text(geometry, stays->result), "2g.10gb@0,1g.5gb@3,3g.20gb@4");
  const auto refused = plan_layout_change(geometry, standing_of(now, {}, busy),
                                          *parse_wanted_layout("4g.20gb@0", geometry));
  ASSERT_FALSE(refused);
  EXPECT_EQ(exit_code(refused.error().kind), 1);
  EXPECT_NE(refused.error().message.find("1g.5gb@3 (instance "), std::string::npos)
      << refused.error().text();
  EXPECT_EQ(refused.error().message.find("1g.5gb@0"), std::string::npos)
      << "that one has no process";
}

TEST(LayoutChange, RefusalsSayWhatIsInTheWay) {
  const Geometry geometry = geometry_of("all");
  const auto refusal = [&](std::string_view goal, PlacementSet walls) {
    const auto change =
        plan_layout_change(geometry, standing_of({}, walls), *parse_wanted_layout(goal, geometry));
    return change ? Error{} : change.error();
  };
  const PlacementSet walls = set_of(geometry, "3g.20gb@4,1g.5gb@0");
  EXPECT_NE(refusal("4g.20gb@0", walls).message.find("1g.5gb@0 (instance"), std::string::npos);
  EXPECT_EQ(refusal("4g.20gb@0", walls).message.find("3g.20gb@4"), std::string::npos);
  EXPECT_EQ(refusal("4g.20gb@0", walls).kind, ErrorKind::infeasible);
  EXPECT_EQ(refusal("3g.20gb", walls).kind, ErrorKind::infeasible);
  EXPECT_EQ(refusal("3g.20gb@4", walls).message, "") << "naming what stands there asks for nothing";
  EXPECT_EQ(refusal("", walls).message, "");
  EXPECT_EQ(refusal("4g.20gb@1", {}).kind, ErrorKind::bad_input);
  EXPECT_NE(refusal("4g.20gb@1", {}).message.find("4g.20gb may start at 0, not at 1"),
            std::string::npos);
  EXPECT_NE(refusal("4g.20gb,4g.20gb", {}).message.find("does not fit together"),
            std::string::npos);
  EXPECT_NE(refusal("1g.5gb+me@0,1g.5gb+me@1", {}).message.find("media"), std::string::npos);
  for (const char* broken :
       {"4g.20gb,", ",", "4g.20gb@", "4g.20gb@x", "9g.1gb", "4g.20gb@0@0", "@", "@0"})
    EXPECT_FALSE(parse_wanted_layout(broken, geometry)) << broken;
}

TEST(LayoutChange, WhatHasNoComputeInstanceIsMadeAnewOrRefused) {
  const Geometry geometry = geometry_of("five");
  Random random(3);
  const auto states = maximal_states(geometry);
  for (int round = 0; round < 300; ++round) {
    const PlacementSet now = states[random.below(states.size())],
                       to = states[random.below(states.size())];
    auto standing = standing_of(now);
    PlacementSet broken;
    for (StandingInstance& each : standing)
      if (random.below(3) == 0) {
        each.usable = false;
        broken.insert(each.placement);
      }
    const bool with_starts = random.below(2) == 0;
    const auto goal = wanted(geometry, to, with_starts);
    const auto change = plan_layout_change(geometry, standing, goal);
    ASSERT_TRUE(change) << change.error().text();
    holds(geometry, *change, {}, goal);
    EXPECT_FALSE(change->kept.meets(broken));
    // As few are destroyed as if the broken ones did not exist.
    const auto without = plan_layout_change(geometry, standing_of(now - broken), goal);
    ASSERT_TRUE(without);
    EXPECT_EQ(change->destroys(), without->destroys() + broken.size());
    EXPECT_EQ(change->creates(), without->creates());
  }
  auto walls = standing_of({}, set_of(geometry, "1g.5gb@0"));
  walls[0].usable = false;
  EXPECT_TRUE(plan_layout_change(geometry, walls, *parse_wanted_layout("1g.5gb", geometry)));
  const auto refused =
      plan_layout_change(geometry, walls, *parse_wanted_layout("1g.5gb@0", geometry));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::infeasible);
  EXPECT_NE(refused.error().message.find("without a compute instance"), std::string::npos);
}

TEST(LayoutChange, HalfMadeOnesAreNotCalledForeign) {
  const Geometry geometry = geometry_of("five");
  auto walls = standing_of({}, set_of(geometry, "1g.5gb@0,1g.5gb@1"));
  for (StandingInstance& each : walls) {
    each.half_made = geometry[each.placement].start == 0;
    each.take_over = each.half_made ? "take the first" : "take the second";
  }
  const auto refused =
      plan_layout_change(geometry, walls, *parse_wanted_layout("4g.20gb", geometry));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("an instance that Cleave did not make: 1g.5gb@1 ("),
            std::string::npos)
      << refused.error().text();
  EXPECT_NE(refused.error().message.find("an instance that is half-made: 1g.5gb@0 ("),
            std::string::npos)
      << refused.error().text();
  for (const char* command : {"`take the first`", "`take the second`"})
    EXPECT_NE(refused.error().remedy.find(command), std::string::npos) << refused.error().text();
}

TEST(LayoutChange, ARuleThatForbidsIsNamed) {
  const Geometry geometry = geometry_of("all");
  const auto rule = [&](std::string_view standing, std::string_view goal) {
    return rule_against(geometry, set_of(geometry, standing), *parse_wanted_layout(goal, geometry));
  };
  EXPECT_EQ(rule("", "1g.5gb+me,1g.5gb+me"), "more than one media-extension instance");
  EXPECT_EQ(rule("1g.5gb+me@0", "1g.5gb+me"), "more than one media-extension instance");
  EXPECT_EQ(rule("1g.5gb+me@0", "1g.5gb+me@3"), "more than one media-extension instance");
  EXPECT_EQ(rule("", "4g.20gb,4g.20gb"), "");
  EXPECT_EQ(rule("7g.40gb@0", "1g.5gb"), "");
  EXPECT_EQ(rule("", "3g.20gb,3g.20gb"), "");
  const auto refused =
      plan_layout_change(geometry, {}, *parse_wanted_layout("1g.5gb+me,1g.5gb+me", geometry));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("more than one media-extension instance"),
            std::string::npos);
  // A foreign one is meant only by its start, which the error says.
  const auto walls = standing_of({}, set_of(geometry, "4g.20gb@0"));
  EXPECT_TRUE(
      plan_layout_change(geometry, walls, *parse_wanted_layout("4g.20gb@0,1g.5gb", geometry)));
  const auto loose =
      plan_layout_change(geometry, walls, *parse_wanted_layout("4g.20gb,1g.5gb", geometry));
  ASSERT_FALSE(loose);
  EXPECT_NE(loose.error().message.find("to mean an existing one, write 4g.20gb@0"),
            std::string::npos)
      << loose.error().text();
}

TEST(LayoutChange, WhatIsInNobodysWayGoesLastAndNewOnesComeEarly) {
  const Geometry geometry = geometry_of("five");
  const auto change = plan_layout_change(
      geometry, standing_of(set_of(geometry, "1g.5gb@0,1g.5gb@1,1g.5gb@2,3g.20gb@4")),
      *parse_wanted_layout("2g.10gb@0,2g.10gb@4,1g.5gb@3", geometry));
  ASSERT_TRUE(change);
  std::string steps;
  for (const LayoutStep& step : change->steps)
    steps += (step.kind == LayoutStep::Kind::destroy ? " -" : " +") +
             layout_text(geometry, PlacementSet::of(step.placement));
  EXPECT_EQ(steps, " +1g.5gb@3 -3g.20gb@4 +2g.10gb@4 -1g.5gb@0 -1g.5gb@1 +2g.10gb@0 -1g.5gb@2");
}

TEST(LayoutChange, NewInstancesStandWhereTheDriverLikesThem) {
  const Geometry geometry = geometry_of("five");
  const auto change = plan_layout_change(geometry, {}, *parse_wanted_layout("3g.20gb", geometry));
  ASSERT_TRUE(change);
  EXPECT_EQ(layout_text(geometry, change->result), "3g.20gb@4");
}

}  // namespace
}  // namespace cleave
