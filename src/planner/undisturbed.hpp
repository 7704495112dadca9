#pragma once
// A goal that can be reached without disturbing anybody, as near to the best goal as repeated
// planning finds: work that could only get to its place by an interruption is told to stay, and the
// rest is planned anew.

#include <optional>

#include "planner/moves/moves.hpp"
#include "planner/planner.hpp"

namespace cleave {

struct Undisturbed {
  Goal goal;
  Moves moves;  // its `disruptive` is empty
};

/// `best` and its `moves` are what could not be reached undisturbed. Empty where some running work
/// may not be where it is and cannot leave undisturbed.
std::optional<Undisturbed> undisturbing(const PlanProblem& problem,
                                        const std::optional<PlanWeights>& weights, const Goal& best,
                                        const Moves& moves);

}  // namespace cleave
