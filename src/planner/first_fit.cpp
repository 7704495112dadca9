// First-fit, a baseline of *Optimal Workload Placement*, 5.1: GPUs in their order, work by name as
// text, the lowest free start.

#include <algorithm>

#include "planner/method.hpp"

namespace cleave::first_fit {

namespace {

void sort_by_name(const PlanProblem& problem, std::vector<WorkloadIndex>& work) {
  std::ranges::stable_sort(work, {}, [&](WorkloadIndex i) { return problem.workloads[i].name; });
}

constexpr Method method{{GpuOrder::first, StartOrder::lowest}, sort_by_name};

}  // namespace

HeuristicOutcome deploy(const PlanProblem& problem) {
  return deploy_by(problem, method);
}
HeuristicOutcome compact(const PlanProblem& problem) {
  return compact_by(problem, method);
}
HeuristicOutcome reconfigure(const PlanProblem& problem) {
  return reconfigure_in_one_pass(problem, method);
}

}  // namespace cleave::first_fit
