#include "planner/planner.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "planner/objective.hpp"
#include "planner/optimal.hpp"

namespace cleave {

std::string_view name(PlanStatus status) {
  switch (status) {
    case PlanStatus::optimal:
      return "optimal";
    case PlanStatus::feasible:
      return "feasible";
    case PlanStatus::infeasible:
      return "infeasible";
  }
  return "";
}

Result<Plan> make_plan(const PlanProblem& problem, const PlanOptions& options) {
  const auto limit = options.time_limit.value_or(std::chrono::milliseconds(60'000));
  const Optimum optimum = find_optimum(problem, options.weights, std::chrono::steady_clock::now() + limit);
  if (!optimum.goal) return fail(ErrorKind::infeasible, "", "no plan");
  if (std::string wrong = flaw(problem, *optimum.goal); !wrong.empty())
    return fail(ErrorKind::internal, "", wrong);
  Plan plan;
  plan.method = options.method;
  plan.goal = *optimum.goal;
  const auto values = objective_values(problem, plan.goal);
  const auto names = objective_names(problem.kind);
  plan.status = PlanStatus::optimal;
  for (std::size_t o = 0; o < values.size(); ++o) {
    plan.objective.push_back({names[o], values[o], optimum.bounds[o], optimum.proofs[o]});
    if (values[o] != optimum.bounds[o]) plan.status = PlanStatus::feasible;
  }
  return plan;
}

}  // namespace cleave
