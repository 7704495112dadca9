#pragma once
// A plan as one picture: every GPU that changes before and after, which work moves where in which
// wave, what is new, stopped, fixed, free and wasted, and a legend that explains the marks.

#include <string>

#include "planner/moves/moves.hpp"
#include "planner/planner.hpp"

namespace cleave {

/// A self-contained SVG document. Few moves are drawn as arrows. With many GPUs or moves the page
/// is a table of small GPUs, and work that moves has the same number before and after. Same input,
/// same bytes.
std::string plan_svg(const PlanProblem& problem, const Plan& plan, const Moves& moves);

}  // namespace cleave
