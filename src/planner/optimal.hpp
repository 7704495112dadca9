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

/// The least number of GPUs by the closed formula of placement/admission.hpp, without search.
struct ClosedForm {
  std::int64_t gpus = 0;  // in use in the best goal, in which nothing is pending
  std::string proof;      // the weights behind it, in words
};

/// Empty where the formula says nothing: GPUs cut in different ways, constraints on where work may
/// be, requests that several profiles satisfy, limits on moves, or more work than the fleet has
/// room for.
std::optional<ClosedForm> closed_form(const PlanProblem& problem);

/// A goal that can be reached without interrupting any work, with the moves that lead to it.
struct Undisturbed {
  Goal goal;
  Moves moves;  // its `disruptive` is empty
};

/// The undisturbed goal nearest to `best` that repeated planning finds: work that could only get to
/// its place by an interruption is told to stay, and the rest is planned again. `best` and its
/// `moves` are what could not be reached undisturbed. Empty where some running work may not stay
/// where it is and cannot leave without an interruption.
std::optional<Undisturbed> undisturbing(const PlanProblem& problem,
                                        const std::optional<PlanWeights>& weights, const Goal& best,
                                        const Moves& moves);

}  // namespace cleave
