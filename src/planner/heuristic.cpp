#include "planner/heuristic.hpp"

#include <algorithm>

#include "planner/method.hpp"

namespace cleave {

namespace {

void sort_by_name(const PlanProblem& problem, std::vector<WorkloadIndex>& work) {
  std::ranges::stable_sort(work, {}, [&](WorkloadIndex i) { return problem.workloads[i].name; });
}

void keep_order(const PlanProblem&, std::vector<WorkloadIndex>&) {}

constexpr Method rules{{GpuOrder::fullest, StartOrder::preferred}, sort_by_size};
constexpr Method first_fit{{GpuOrder::first, StartOrder::lowest}, sort_by_name};
// The emptiest GPU as things stand after every assignment (reading O12).
constexpr Method load_balanced{{GpuOrder::emptiest, StartOrder::lowest}, keep_order};

constexpr Heuristic table[] = {
    {.name = "rules",
     .summary = "large work first, on the fullest GPU that fits, at the vendor's preferred start",
     .source = "Optimal Workload Placement, 4.2",
     .method = &rules,
     .reconfigure_by = reconfigure_by_rules},
    {.name = "first-fit",
     .summary = "work by name, on the first GPU that fits, at the lowest start",
     .source = "Optimal Workload Placement, 5.1",
     .method = &first_fit,
     .reconfigure_by = reconfigure_in_one_pass},
    {.name = "load-balanced",
     .summary = "work as it comes, on the emptiest GPU that fits, at the lowest start",
     .source = "Optimal Workload Placement, 5.1",
     .method = &load_balanced,
     .reconfigure_by = reconfigure_in_one_pass},
};

}  // namespace

HeuristicOutcome Heuristic::deploy(const PlanProblem& problem) const {
  return deploy_by(problem, *method);
}

HeuristicOutcome Heuristic::compact(const PlanProblem& problem) const {
  return compact_by(problem, *method);
}

std::span<const Heuristic> heuristics() {
  return table;
}

}  // namespace cleave
