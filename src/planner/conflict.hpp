#pragma once
// Why there is no plan, or why a workload is left waiting, in words that name what stands in the
// way.

#include <string>
#include <vector>

#include "planner/problem.hpp"

namespace cleave {

/// For a problem that no goal solves: which constraints or limits are in conflict.
std::string why_impossible(const PlanProblem& problem);

struct Pending {
  WorkloadIndex workload;
  std::string reason;
};

/// The workloads that the goal leaves without a seat, each with the reason.
std::vector<Pending> pending_work(const PlanProblem& problem, const Goal& goal);

}  // namespace cleave
