#pragma once
// The provably best goal. The programme counts GPUs that end alike (patterns.hpp) and workloads
// that are alike; its solution is then assigned to actual GPUs and workloads. docs/planner.md
// describes the approach and why it is exact. Counting GPUs together would lose something if
// replicas of a group must be kept apart. The programme is then first solved with them counted
// together, which bounds the optimum, and again with every such GPU by itself if its solution
// cannot be assigned.

#include <optional>
#include <string>
#include <vector>

#include "planner/mip.hpp"
#include "planner/planner.hpp"
#include "planner/problem.hpp"

namespace cleave {

/// The best goal that was found, with the bounds that prove how good it is.
struct Optimum {
  /// Empty if nothing was found in time, or nothing exists.
  std::optional<Goal> goal;
  bool infeasible = false;           // proven: no goal keeps the constraints
  std::vector<std::int64_t> bounds;  // of each objective, or of the weighted sum
  std::vector<std::string> proofs;   // of each bound
};

Optimum find_optimum(const PlanProblem& problem, const std::optional<PlanWeights>& weights,
                     Deadline deadline);

/// A goal without search, for when there was no time: the best among the heuristics' goals and the
/// present state. Empty if none of these keeps the constraints.
std::optional<Goal> best_known(const PlanProblem& problem,
                               const std::optional<PlanWeights>& weights);

/// All objectives as one sum, in thousandths, from their values in order.
std::int64_t weighted_sum(const PlanProblem& problem, const PlanWeights& weights,
                          const std::vector<std::int64_t>& values);

/// The least number of GPUs by the closed formula of placement/admission.hpp, without search.
struct ClosedForm {
  std::int64_t gpus = 0;  // in use in the best goal, in which nothing is pending
  std::string proof;      // the weights behind it, in words
};

/// Empty if the formula does not apply: GPUs with different geometries, constraints on where work
/// may be, requests that several profiles satisfy, limits on moves, or more work than the fleet has
/// room for.
std::optional<ClosedForm> closed_form(const PlanProblem& problem);

/// A goal that can be reached without interrupting any work, with the moves that lead to it.
struct Undisturbed {
  Goal goal;
  Moves moves;  // its `disruptive` is empty
};

/// The undisturbed goal nearest to `best` that repeated planning finds: work that could only get to
/// its place by an interruption is told to stay, and the rest is planned again. `best` and its
/// `moves` are what could not be reached undisturbed. Empty if some running work may not stay where
/// it is and cannot leave without an interruption.
std::optional<Undisturbed> undisturbing(const PlanProblem& problem,
                                        const std::optional<PlanWeights>& weights, const Goal& best,
                                        const Moves& moves);

}  // namespace cleave
