// The checker of plans, with correct plans and with plans that have one fault each: it must find
// exactly that fault.

#include "checker.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave::plans {
namespace {

/// Two nodes of A100s. a may move, b must stay; there are also a wall, an idle instance and one
/// that must stay.
constexpr std::string_view two_nodes = R"({"gpus": [
  {"name": "n0/0", "model": "A100-40GB", "instances": [
    {"profile": "3g.20gb", "start": 0, "workload": "a", "memory_mib": 15000},
    {"profile": "1g.5gb", "start": 4, "workload": "b", "movable": false},
    {"profile": "1g.5gb", "start": 6}]},
  {"name": "n0/1", "model": "A100-40GB", "instances": [
    {"profile": "2g.10gb", "start": 0, "owned": false, "workload": "theirs"},
    {"profile": "1g.5gb", "start": 2, "movable": false}]},
  {"name": "n1/0", "model": "A100-40GB"},
  {"name": "n1/1", "model": "A30-24GB"}],
 "waiting": [{"workload": "c", "profile": "2g.10gb", "forbid": ["n0/0"]},
             {"workload": "d", "memory_mib": 9000, "compute_slices": 2, "group": "g"},
             {"workload": "e", "profile": "A30-24GB:1g.6gb+me", "group": "g", "pin": "n1"}]})";

Question question(std::string_view fleet, Task task) {
  return {std::string(fleet), task, {}, {}, false};
}

/// Where the right plan for the joint problem puts everything.
Seats right_seats(const Scene& scene) {
  const auto at = [&](std::size_t gpu, const char* profile, int start) {
    return Position{gpu, {scene.gpus[gpu].model->find(profile), start}};
  };
  return {at(1, "3g.20gb", 4), scene.works[1].now, at(2, "2g.10gb", 4), at(2, "2g.10gb", 0),
          at(3, "1g.6gb+me", 3)};
}

std::string text_of(const std::vector<std::string>& found) {
  return fmt::format("{}", fmt::join(found, "\n"));
}

/// The plan after `change` has a fault that contains `words`.
void expect_fault(const Question& asked, const std::function<void(Json&)>& change,
                  std::string_view words) {
  const auto scene = read_scene(asked);
  ASSERT_TRUE(scene) << scene.error().text();
  Json plan = *parse_json(plan_for(*scene, right_seats(*scene)), "");
  change(plan);
  const std::string found = text_of(check_plan(asked, plan.dump()));
  EXPECT_NE(found.find(words), std::string::npos) << "wanted: " << words << "\nfound: " << found;
}
void expect_fault(const std::function<void(Json&)>& change, std::string_view words) {
  expect_fault(question(two_nodes, Task::joint), change, words);
}

/// Puts a workload of the plan elsewhere; the action is unchanged.
void put(Json& plan, std::size_t which, const char* gpu, const char* profile, int start) {
  Json& seat = plan["placements"][which];
  seat["gpu"] = gpu;
  seat["profile"] = profile;
  seat["start"] = start;
}

TEST(PlanChecker, FindsNothingWrongWithARightPlan) {
  const Question asked = question(two_nodes, Task::joint);
  const Scene scene = *read_scene(asked);
  EXPECT_EQ(text_of(check_plan(asked, plan_for(scene, right_seats(scene)))), "");
}

TEST(PlanChecker, CountsTheRightPlanByHand) {
  const Scene scene = *read_scene(question(two_nodes, Task::joint));
  // All four GPUs; a moves with four memory slices, and nothing is made at its old place. Nothing
  // is wasted: neither by the wall at 0, nor by the one at 2, nor by a's new place at 4.
  EXPECT_EQ(value(scene, right_seats(scene)), (Objectives{0, 4, 0, 4, 0}));
  const Metrics figures = metrics(scene, right_seats(scene));
  EXPECT_EQ(figures.availability, 7 * 3 + 4 - 1 - (2 + 1 + 3) - (2 + 2) - 1);
  EXPECT_EQ(figures.migration_size, 4);
  EXPECT_EQ(figures.sequential_migrations, 0);
  EXPECT_EQ(figures.memory_utilization, Ratio(1 + 2 + 1 + 4 + 2 + 2 + 1, 28));
  EXPECT_EQ(figures.compute_utilization, Ratio(1 + 2 + 1 + 3 + 2 + 2 + 1, 25));
  // The present state: a at 0 blocks one compute slice more than it has. Pending: 2 + 2 (on either
  // model) + 1.
  EXPECT_EQ(value(scene, seats_of_now(scene)), (Objectives{5, 2, 1, 0, 0}));
}

TEST(PlanChecker, FindsWorkThatIsLostOrTwice) {
  expect_fault([](Json& plan) { plan["placements"].erase(2); }, "'c' stands 0 times");
  expect_fault([](Json& plan) { plan["placements"].push_back(plan["placements"][2]); },
               "'c' stands 2 times");
  expect_fault([](Json& plan) { plan["pending"].push_back("c"); }, "'c' stands 2 times");
  expect_fault(
      [](Json& plan) {
        plan["pending"].push_back({{"workload", "c"}});
      },
      "'c' stands 2 times");
  expect_fault([](Json& plan) { plan["pending"].push_back("theirs"); },
               "no workload of the problem");
  // Waiting work is not part of the problem when running work is compacted.
  expect_fault(
      question(two_nodes, Task::joint), [](Json& plan) { plan.erase("pending"); },
      "no list 'pending'");
  const Question compact = question(two_nodes, Task::compact);
  const Scene scene = *read_scene(compact);
  EXPECT_EQ(scene.works.size(), 2U);
  EXPECT_EQ(text_of(check_plan(compact, plan_for(scene, seats_of_now(scene)))), "");
}

TEST(PlanChecker, FindsPlacementsThatCannotBe) {
  expect_fault([](Json& plan) { put(plan, 2, "n1/0", "2g.10gb", 3); },
               "2g.10gb may not start at 3");
  expect_fault([](Json& plan) { put(plan, 2, "n1/0", "3g.20gb", 4); }, "did not ask for 3g.20gb");
  expect_fault([](Json& plan) { put(plan, 2, "n1/1", "2g.10gb", 0); }, "does not have");
  expect_fault([](Json& plan) { put(plan, 2, "n9", "2g.10gb", 0); }, "no GPU");
  expect_fault([](Json& plan) { put(plan, 2, "n1/0", "2g.10gb", 0); }, "share memory slices");
  expect_fault([](Json& plan) { put(plan, 2, "n0/1", "2g.10gb", 0); },
               "share memory slices");  // not ours
  expect_fault([](Json& plan) { put(plan, 2, "n0/1", "2g.10gb", 2); },
               "share memory slices");  // must stay
  expect_fault([](Json& plan) { put(plan, 3, "n1/0", "1g.10gb", 0); }, "did not ask for 1g.10gb");
  expect_fault([](Json& plan) { put(plan, 4, "n1/0", "1g.5gb+me", 0); },
               "did not ask for 1g.5gb+me");
}

TEST(PlanChecker, FindsLawsOfTheGpuBroken) {
  const auto law = [](const char* model, std::initializer_list<std::pair<const char*, int>> list) {
    const GpuModel& gpu = **find_gpu_model(model);
    std::vector<Instance> instances;
    for (const auto& [profile, start] : list) instances.push_back({gpu.find(profile), start});
    return unlawful(gpu, instances);
  };
  EXPECT_EQ(law("A100-40GB", {{"4g.20gb", 0}, {"3g.20gb", 4}}), "");
  EXPECT_EQ(law("A100-40GB", {{"1g.5gb+me", 0}, {"1g.5gb+me", 4}}),
            "two media-extension instances");
  EXPECT_EQ(law("A30-24GB", {{"1g.6gb+me", 0}, {"2g.12gb+me", 2}}),
            "two media-extension instances");
  const char* rtx = "RTX-PRO-6000-BW-96GB";
  EXPECT_EQ(law(rtx, {{"1g.24gb+me.all", 0}, {"2g.48gb-me", 6}}), "");
  EXPECT_NE(law(rtx, {{"1g.24gb+me.all", 0}, {"2g.48gb", 6}}), "");
  EXPECT_NE(law(rtx, {{"1g.24gb", 9}, {"1g.24gb+me.all", 0}}), "");
  EXPECT_NE(law(rtx, {{"1g.24gb+me.all", 9}, {"1g.24gb+me.all", 0}}), "");
  EXPECT_EQ(law(rtx, {{"1g.24gb", 0}, {"1g.24gb", 3}, {"1g.24gb", 6}, {"1g.24gb+gfx", 9}}), "");
  EXPECT_NE(law("A100-40GB", {{"7g.40gb", 0}, {"1g.5gb", 0}}), "");
}

TEST(PlanChecker, FindsWorkThatMayNotBeWhereItIs) {
  expect_fault([](Json& plan) { put(plan, 1, "n1/0", "1g.5gb", 6); }, "'b' must stay");
  expect_fault(
      [](Json& plan) {
        plan["placements"].erase(0);
        plan["pending"].push_back("a");
      },
      "'a' runs and is pending");
  expect_fault([](Json& plan) { put(plan, 2, "n0/0", "2g.10gb", 0); }, "'c' may not be on n0/0");
  expect_fault([](Json& plan) { put(plan, 3, "n1/1", "2g.12gb", 0); },
               "'d' and 'e' of group 'g' are together");
  expect_fault(
      question(two_nodes, Task::deploy), [](Json&) {}, "'a' must stay");
  Question evicting = question(two_nodes, Task::joint);
  evicting.may_evict = true;
  const Scene scene = *read_scene(evicting);
  Seats seats = right_seats(scene);
  seats[0].reset();
  EXPECT_EQ(text_of(check_plan(evicting, plan_for(scene, seats))), "");
  seats[1].reset();
  EXPECT_EQ(text_of(check_plan(evicting, plan_for(scene, seats))), "'b' must stay where it is");
}

TEST(PlanChecker, FindsGroupsTogetherOnANode) {
  std::string fleet(two_nodes);
  const std::string_view alone = R"("compute_slices": 2, "group": "g")";
  fleet.replace(fleet.find(alone), alone.size(),
                R"("compute_slices": 2, "group": "g", "spread": "node")");
  expect_fault(
      question(fleet, Task::joint), [](Json&) {}, "'d' and 'e' of group 'g' are together");
}

TEST(PlanChecker, LeavesOutGroupsThatMustStayTogether) {
  const auto fleet = [](bool first, bool second) {
    return fmt::format(R"({{"gpus": [{{"name": "x", "model": "A30-24GB", "instances": [
      {{"profile": "1g.6gb", "start": 0, "workload": "a", "group": "g", "movable": {}}},
      {{"profile": "1g.6gb", "start": 1, "workload": "b", "group": "g", "movable": {}}}]}}]}})",
                       first, second);
  };
  for (const bool first : {false, true})
    for (const bool second : {false, true}) {
      const Question asked = question(fleet(first, second), Task::compact);
      const Scene scene = *read_scene(asked);
      EXPECT_EQ(check_plan(asked, plan_for(scene, seats_of_now(scene))).empty(), !first && !second);
      const Question deploy = question(fleet(first, second), Task::deploy);
      const Scene deployed = *read_scene(deploy);
      EXPECT_EQ(text_of(check_plan(deploy, plan_for(deployed, seats_of_now(deployed)))), "");
    }
}

TEST(PlanChecker, FindsLimitsExceeded) {
  Question asked = question(two_nodes, Task::joint);
  asked.max_migrations = 1;
  asked.max_moved_mib = 15000;
  const Scene scene = *read_scene(asked);
  EXPECT_EQ(text_of(check_plan(asked, plan_for(scene, right_seats(scene)))), "");
  asked.max_migrations = 0;
  expect_fault(
      asked, [](Json&) {}, "1 migrations, 0 are allowed");
  asked.max_moved_mib = 14999;
  expect_fault(
      asked, [](Json&) {}, "15000 MiB moved, 14999 are allowed");
}

TEST(PlanChecker, FindsWrongWords) {
  expect_fault([](Json& plan) { plan["placements"][0]["action"] = "place"; },
               "the action of 'a' is not migrate");
  expect_fault([](Json& plan) { plan["placements"][1]["action"] = "move-within"; },
               "of 'b' is not stay");
  expect_fault([](Json& plan) { plan["placements"][2].erase("action"); }, "of 'c' is not place");
  expect_fault([](Json& plan) { put(plan, 0, "n0/0", "3g.20gb", 4); }, "of 'a' is not move-within");
  expect_fault([](Json& plan) { plan["status"] = "feasible"; }, "not called optimal");
  expect_fault([](Json& plan) { plan["status"] = "infeasible"; }, "the status is 'infeasible'");
  expect_fault([](Json& plan) { plan.erase("method"); }, "no method");
}

TEST(PlanChecker, FindsWrongFigures) {
  for (std::size_t i = 0; i < objectives; ++i) {
    const std::string named(objective_names(Task::joint)[i]);
    expect_fault([&](Json& plan) { plan["objective"][i]["value"] = 17; },
                 fmt::format("{} is ", named));
    expect_fault([&](Json& plan) { plan["objective"][i]["bound"] = 99; },
                 fmt::format("{}: the bound", named));
    expect_fault([&](Json& plan) { plan["objective"][i]["name"] = "x"; },
                 fmt::format("no {} at", named));
    expect_fault([&](Json& plan) { plan["objective"][i]["bound"] = -1; }, "called optimal");
    expect_fault([&](Json& plan) { plan["objective"][i].erase("bound"); },
                 "without value or bound");
  }
  expect_fault([](Json& plan) { plan["objective"].erase(4); }, "4 objectives");
  for (const char* key :
       {"gpus", "memory_wastage", "compute_wastage", "availability", "migration_size",
        "pending_size", "sequential_migrations", "memory_utilization", "compute_utilization"}) {
    expect_fault([&](Json& plan) { plan["metrics"][key] = 77; }, fmt::format("metrics.{} is", key));
    expect_fault([&](Json& plan) { plan["metrics"].erase(key); },
                 fmt::format("metrics.{} is", key));
  }
  expect_fault([](Json& plan) { plan.erase("metrics"); }, "no metrics");
  const Question asked = question(two_nodes, Task::joint);
  EXPECT_EQ(check_plan(asked, "{").size(), 1U);
}

TEST(PlanChecker, KnowsWasteAndRepartitionedGpus) {
  const Question asked = question(R"({"gpus": [
    {"name": "x", "model": "A100-40GB", "instances": [{"profile": "1g.5gb", "start": 6, )"
                                  R"("workload": "a"},
      {"profile": "1g.10gb", "start": 0, "workload": "b"}, {"profile": "2g.10gb", "start": 2}]},
    {"name": "y", "model": "RTX-PRO-6000-BW-96GB", "instances": [{"profile": "1g.24gb", )"
                                  R"("start": 0, "workload": "c"}]}]})",
                                  Task::compact);
  const Scene scene = *read_scene(asked);
  Seats seats = seats_of_now(scene);
  EXPECT_EQ(value(scene, seats),
            (Objectives{0, 2, 2, 0, 0}));  // a wastes memory, b compute; budgets nothing
  EXPECT_EQ(metrics(scene, seats).memory_wastage, 1);
  EXPECT_EQ(metrics(scene, seats).compute_wastage, 1);
  EXPECT_EQ(metrics(scene, seats).availability, 7 - 3 + 4 - 1);
  seats[1]->instance.start = 2;  // over the idle one
  EXPECT_EQ(value(scene, seats), (Objectives{0, 2, 2, 2, 1}));
  seats[1]->instance.start = 4;  // over nothing
  EXPECT_EQ(value(scene, seats), (Objectives{0, 2, 2, 2, 0}));
  seats[0]->instance.start = 0;  // where b was
  EXPECT_EQ(value(scene, seats), (Objectives{0, 2, 1, 3, 1}));
  Scene again = *read_scene({asked.fleet, Task::reconfigure, {}, {}, false});
  EXPECT_EQ(value(again, seats), (Objectives{0, 2, 1, 2, 3}));
}

}  // namespace
}  // namespace cleave::plans
