// The planner against independent checks: every plan of every method goes through the checker, and
// on small fleets the optimum is compared with the exhaustive search.
//
// Seeded, so that a failure repeats: seed and fleet are printed. CLEAVE_PLAN_ROUNDS is a factor in
// per cent, 1000 for ten times as long.

#include "planner/planner.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "base/format.hpp"
#include "base/random.hpp"
#include "checker.hpp"
#include "exhaustive.hpp"
#include "planner/plan_text.hpp"
#include "planner_problem.hpp"
#include "random_fleet.hpp"
#include "rounds.hpp"

namespace cleave::plans {
namespace {

struct Row {
  Task task;
  const char* method;
};
constexpr Row rows[] = {
    {Task::deploy, "optimal"},
    {Task::compact, "optimal"},
    {Task::reconfigure, "optimal"},
    {Task::joint, "optimal"},
    {Task::deploy, "rules"},
    {Task::compact, "rules"},
    {Task::reconfigure, "rules"},
    {Task::deploy, "first-fit"},
    {Task::compact, "first-fit"},
    {Task::reconfigure, "first-fit"},
    {Task::deploy, "load-balanced"},
    {Task::compact, "load-balanced"},
    {Task::reconfigure, "load-balanced"},
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << name(row.task) << "_" << row.method;
}

std::string row_name(const testing::TestParamInfo<Row>& row) {
  std::string text = testing::PrintToString(row.param);
  std::ranges::replace(text, '-', '_');
  return text;
}

PlanOptions options(const char* method) {
  PlanOptions options;
  options.method = method;
  options.time_limit = std::chrono::seconds(5);
  return options;
}

std::string text_of(const std::vector<std::string>& found) {
  return fmt::format("{}", fmt::join(found, "\n"));
}

class EveryPlan : public testing::TestWithParam<Row> {};

/// No plan is better than the best of all.
void expect_not_better(const Plan& plan, const Question& asked) {
  const auto best = exhaustive_best(*read_scene(asked));
  ASSERT_TRUE(best) << "there is no plan";
  Objectives values{};
  for (std::size_t i = 0; i < objectives; ++i) values[i] = plan.objective[i].value;
  ASSERT_GE(values, best->value);
  ASSERT_EQ(plan.status == PlanStatus::optimal, values == best->value);
  for (const Objective& objective : plan.objective) ASSERT_LE(objective.bound, objective.value);
}

TEST_P(EveryPlan, HasNothingWrong) {
  const auto& [task, method] = GetParam();
  const int count = rounds(770);
  int none = 0;
  for (int seed = 0; seed < count; ++seed) {
    const auto number = static_cast<std::uint64_t>(seed);
    const bool small = seed % 3 == 0;
    const Question asked = random_question(number, task, small ? small_fleet : FleetShape{});
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, asked.fleet));
    const auto problem = PlannerProblem::make(asked);
    ASSERT_TRUE(problem) << problem.error().text();
    const auto plan = make_plan((*problem)->problem, options(method));
    if (!plan) {
      ASSERT_EQ(plan.error().kind, ErrorKind::infeasible) << plan.error().text();
      ASSERT_FALSE(plan.error().message.empty());
      ++none;
      continue;
    }
    const auto found = check_plan(asked, plan_text((*problem)->problem, *plan));
    ASSERT_TRUE(found.empty()) << text_of(found);
    if (small) expect_not_better(*plan, asked);
    if (HasFatalFailure()) return;
  }
  std::printf("%d plans, for %d problems none\n", count - none, none);
  EXPECT_LT(none, count / 2);
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryPlan, testing::ValuesIn(rows), row_name);

class Optimum : public testing::TestWithParam<Task> {};

/// The plan's values compared with the best possible, and its bounds: each holds for the plans that
/// are as good in the objectives before it.
void expect_optimum(const Plan& plan, const Objectives& best) {
  ASSERT_EQ(plan.objective.size(), objectives);
  const bool proven = plan.status == PlanStatus::optimal;
  for (std::size_t i = 0; i < objectives; ++i) {
    const Objective& objective = plan.objective[i];
    ASSERT_LE(objective.bound, best[i]) << objective.name << ": no bound";
    ASSERT_GE(objective.value, best[i]) << objective.name << ": better than the best";
    if (proven) {
      ASSERT_EQ(objective.value, best[i]) << objective.name;
    }
    if (objective.value != best[i]) return;
  }
}

TEST_P(Optimum, IsTheBestOfAll) {
  const int count = rounds(250);
  int proven = 0, none = 0;
  for (int seed = 0; seed < count; ++seed) {
    Question asked =
        random_question(static_cast<std::uint64_t>(seed) + 1'000'000, GetParam(), small_fleet);
    asked.may_evict = seed % 5 == 0;
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, asked.fleet));
    const Scene scene = *read_scene(asked);
    const auto best = exhaustive_best(scene);
    const auto problem = PlannerProblem::make(asked);
    ASSERT_TRUE(problem) << problem.error().text();
    const auto plan = make_plan((*problem)->problem, options("optimal"));
    if (best) {
      SCOPED_TRACE(fmt::format("exhaustive: {}", plan_for(scene, best->seats)));
      ASSERT_TRUE(plan) << "there is a plan: " << plan.error().text();
      expect_optimum(*plan, best->value);
      if (HasFatalFailure()) return;
      const auto found = check_plan(asked, plan_text((*problem)->problem, *plan));
      ASSERT_TRUE(found.empty()) << text_of(found);
      proven += plan->status == PlanStatus::optimal ? 1 : 0;
    } else {
      ASSERT_FALSE(plan) << "there is no plan";
      ASSERT_EQ(plan.error().kind, ErrorKind::infeasible) << plan.error().text();
      ++none;
    }
  }
  std::printf("%d proven optimal, for %d problems no plan, of %d\n", proven, none, count);
  EXPECT_EQ(proven + none, count);
}

INSTANTIATE_TEST_SUITE_P(Tasks, Optimum, testing::ValuesIn(tasks),
                         [](const auto& task) { return std::string(name(task.param)); });

/// Weights in the order of the objectives of the task.
PlanWeights weights_of(Task task, const Objectives& w) {
  const bool anew = task == Task::reconfigure;
  return {w[0], w[1], w[2], w[anew ? 4 : 3], w[anew ? 3 : 4]};
}

TEST_P(Optimum, IsTheLeastSumWithWeights) {
  int compared = 0;
  for (int seed = 0; seed < rounds(200); ++seed) {
    Question asked =
        random_question(static_cast<std::uint64_t>(seed) + 2'000'000, GetParam(), tiny_fleet);
    asked.may_evict = seed % 5 == 0;
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, asked.fleet));
    Random random(static_cast<std::uint64_t>(seed));
    Objectives weights{};
    for (std::int64_t& weight : weights) weight = static_cast<std::int64_t>(random.below(7));
    bool too_many = false;
    const auto least = least_sum(*read_scene(asked), weights, 20'000, too_many);
    if (too_many) continue;
    const auto problem = PlannerProblem::make(asked);
    ASSERT_TRUE(problem) << problem.error().text();
    PlanOptions with = options("optimal");
    with.weights = weights_of(GetParam(), weights);
    const auto plan = make_plan((*problem)->problem, with);
    ASSERT_EQ(plan.has_value(), least.has_value());
    if (!plan) continue;
    EXPECT_EQ(plan->status, PlanStatus::optimal);
    ASSERT_EQ(plan->objective.front().value, *least);
    ++compared;
  }
  EXPECT_GT(compared, rounds(200) / 4);
}

TEST(PlanText, IsTheSameForTheSameProblem) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Question asked = random_question(seed, tasks[seed % 4], small_fleet);
    const auto one = PlannerProblem::make(asked), other = PlannerProblem::make(asked);
    ASSERT_TRUE(one && other);
    const auto first = make_plan((*one)->problem, {}), second = make_plan((*other)->problem, {});
    ASSERT_EQ(first.has_value(), second.has_value());
    if (first) {
      EXPECT_EQ(plan_text((*one)->problem, *first), plan_text((*other)->problem, *second));
    }
  }
}

}  // namespace
}  // namespace cleave::plans
