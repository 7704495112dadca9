// On the test cases of *Optimal Workload Placement*, case by case: nothing that places by rule is
// better than the optimum, and no bound is above what was found. CLEAVE_PLAN_ROUNDS is a factor in
// per cent.

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/format.hpp"
#include "base/sanitized_test.hpp"
#include "planner/planner.hpp"
#include "study/wpm/paper_cases.hpp"

namespace cleave {
namespace {

std::uint64_t rounds(std::uint64_t usual) {
  if (sanitized) usual = std::max<std::uint64_t>(1, usual / 5);
  const char* given = std::getenv("CLEAVE_PLAN_ROUNDS");
  return given == nullptr
             ? usual
             : std::max<std::uint64_t>(1, usual * std::strtoull(given, nullptr, 10) / 100);
}

void expect_optimum_first(const PlanProblem& problem) {
  const auto best = make_plan(problem, {});
  ASSERT_TRUE(best) << best.error().text();
  EXPECT_EQ(best->status, PlanStatus::optimal);
  for (const std::string& method : plan_methods()) {
    PlanOptions options;
    options.method = method;
    if (problem.kind == ProblemKind::joint && method != "optimal") continue;  // no rule has that
    const auto plan = make_plan(problem, options);
    ASSERT_TRUE(plan) << method << ": " << plan.error().text();
    EXPECT_LE(best->values, plan->values) << method;
    EXPECT_EQ(plan->status == PlanStatus::optimal, plan->values == best->values) << method;
    for (const Objective& objective : plan->objective)
      EXPECT_LE(objective.bound, objective.value) << method;
  }
}

class PaperPlans : public testing::TestWithParam<ProblemKind> {};

TEST_P(PaperPlans, NoRuleIsBetterThanTheOptimum) {
  for (const auto& [gpus, cases] :
       {std::pair{std::size_t{8}, rounds(25)}, {std::size_t{80}, rounds(10)}})
    for (std::uint64_t seed = 1; seed <= cases; ++seed) {
      PaperCase wanted;
      wanted.gpus = gpus;
      wanted.seed = seed;
      wanted.new_work = true;
      const FleetFile file = paper_fleet(wanted);
      auto problem = PlanProblem::make(file, GetParam(), "case");
      ASSERT_TRUE(problem) << problem.error().text();
      problem->may_evict = true;  // as the paper's model, and what its baselines do
      SCOPED_TRACE(fmt::format("{} GPUs, seed {}", gpus, seed));
      expect_optimum_first(*problem);
    }
}

INSTANTIATE_TEST_SUITE_P(Problems, PaperPlans,
                         testing::Values(ProblemKind::deploy, ProblemKind::compact,
                                         ProblemKind::reconfigure, ProblemKind::joint),
                         [](const auto& kind) { return std::string(name(kind.param)); });

}  // namespace
}  // namespace cleave
