#pragma once
// The provably best goal. The programme counts GPUs that end alike (patterns.hpp) and workloads
// that are alike; its solution is then dealt out to the GPUs and workloads there are. The approach
// and why it is exact: docs/planner.md. Where counting GPUs together would lose something -
// replicas of a group that must be kept apart - the programme is first solved with them counted
// together, which bounds the optimum, and again with every such GPU by itself when its solution
// cannot be dealt out.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "planner/mip.hpp"
#include "planner/planner.hpp"
#include "planner/problem.hpp"

namespace cleave {

struct Optimum {
  /// Empty where nothing was found in time, or nothing exists.
  std::optional<Goal> goal;
  bool infeasible = false;           // proven: no goal keeps the constraints
  std::vector<std::int64_t> bounds;  // of each objective, or of the weighted sum
  std::vector<std::string> proofs;   // of each bound
};

Optimum find_optimum(const PlanProblem& problem, const std::optional<PlanWeights>& weights,
                     Deadline deadline);

/// A goal without search, for when there was no time: the best by the heuristics, and leaving
/// everything where it is. Empty where none of these keeps the constraints.
std::optional<Goal> best_known(const PlanProblem& problem,
                               const std::optional<PlanWeights>& weights);

/// The objectives at once, in thousandths, from their values in order.
std::int64_t weighted_sum(const PlanProblem& problem, const PlanWeights& weights,
                          const std::vector<std::int64_t>& values);

}  // namespace cleave
