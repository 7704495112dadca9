#pragma once
// A plan as one picture for people: every GPU that changes before and after, who moves where in
// which wave, what is new, stopped, fixed, free and wasted, and a legend that explains the marks.

#include <string>

#include "planner/moves/moves.hpp"
#include "planner/planner.hpp"

namespace cleave {

/// An SVG document that needs nothing beside itself. Few moves are drawn as arrows; with many GPUs
/// or moves the page is a table of small GPUs, and what moves has the same number before and after.
/// Same input, same bytes.
std::string plan_svg(const PlanProblem& problem, const Plan& plan, const Moves& moves);

}  // namespace cleave
