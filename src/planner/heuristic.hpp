#pragma once
// Methods that place by rule and prove nothing: the rules of *Optimal Workload Placement* 4.2, and
// the two baselines of its section 5.1, one row of the table each. A method is an order of work, a
// manner of choosing GPUs and starts (Method, in method.hpp), and a way to reconfigure a fleet;
// deploying and compacting are the same for all. Every method respects every constraint of the
// problem. What it cannot place is pending; where a reconfiguration finds no room for running work,
// that is pending too.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "planner/problem.hpp"

namespace cleave {

/// What a heuristic found, with facts about how it came about where the problem has them.
struct HeuristicOutcome {
  Goal goal;
  std::vector<WorkloadIndex> pending;      // in the order in which they were tried
  std::optional<std::int64_t> minimum;     // reconfigure: equation 3, in whole GPUs
  std::optional<std::int64_t> gpus_tried;  // reconfigure
  std::vector<GpuId> vacated;              // compact: in the order in which they fell empty
  std::optional<GpuId> added;              // compact: the free GPU that was put to use
};

struct Method;

/// One method of planning by rule. No heuristic solves joint problems.
struct Heuristic {
  std::string_view name;  // "rules", "first-fit", "load-balanced"
  std::string_view summary;
  std::string_view source;
  const Method* method;
  HeuristicOutcome (*reconfigure_by)(const PlanProblem&, const Method&);

  [[nodiscard]] HeuristicOutcome deploy(const PlanProblem& problem) const;
  [[nodiscard]] HeuristicOutcome compact(const PlanProblem& problem) const;
  [[nodiscard]] HeuristicOutcome reconfigure(const PlanProblem& problem) const {
    return reconfigure_by(problem, *method);
  }
};

/// Every heuristic, in the order in which help lists them.
std::span<const Heuristic> heuristics();

}  // namespace cleave
