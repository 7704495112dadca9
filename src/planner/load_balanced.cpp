// Load balancing, a baseline of *Optimal Workload Placement*, 5.1: the emptiest GPU that fits, as
// things stand after every assignment (reading O12), work in the order in which it comes, the
// lowest free start.

#include "planner/method.hpp"

namespace cleave::load_balanced {

namespace {

void as_it_comes(const PlanProblem&, std::vector<WorkloadIndex>&) {}

constexpr Method method{{GpuOrder::emptiest, StartOrder::lowest}, as_it_comes};

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

}  // namespace cleave::load_balanced
