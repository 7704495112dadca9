#pragma once
// Methods that place by rule and prove nothing: the rules of *Optimal Workload Placement* 4.2, and
// the two baselines of its section 5.1. One file a method, one row in the table. They respect every
// constraint of the problem; what they cannot place is pending, running work too where a
// reconfiguration finds no room for it.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "planner/problem.hpp"

namespace cleave {

struct HeuristicOutcome {
  Goal goal;
  std::vector<WorkloadIndex> pending;  // in the order in which they were tried
  // Facts about how it came about, where the problem has them.
  std::optional<std::int64_t> minimum;     // reconfigure: equation 3, in whole GPUs
  std::optional<std::int64_t> gpus_tried;  // reconfigure
  std::vector<GpuId> vacated;              // compact: in the order in which they fell empty
  std::optional<GpuId> added;              // compact: the free GPU that was put to use
};

struct Heuristic {
  std::string_view name;  // "rules", "first-fit", "load-balanced"
  std::string_view summary;
  std::string_view source;
  /// The problem is not joint: no heuristic has that.
  HeuristicOutcome (*deploy)(const PlanProblem&);
  HeuristicOutcome (*compact)(const PlanProblem&);
  HeuristicOutcome (*reconfigure)(const PlanProblem&);
};

std::span<const Heuristic> heuristics();

}  // namespace cleave
