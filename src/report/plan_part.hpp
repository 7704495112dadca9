#pragma once
// A plan in a report: the GPUs that change before and after, what moves where in which wave, what
// is achieved, and why nothing is better.

#include <string>

#include "planner/planner.hpp"

namespace cleave::report {

/// `plan` of a report's document (docs/formats.md, Report), as JSON.
[[nodiscard]] std::string plan_part(const PlanProblem& problem, const Plan& plan);

}  // namespace cleave::report
