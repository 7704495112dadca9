#pragma once
// A plan as the JSON document of docs/formats.md. Written straight into text: a plan for ten
// thousand GPUs is some megabytes.

#include <string>

#include "planner/planner.hpp"

namespace cleave {

/// Names the state of a fleet that a plan was made for: its GPUs and what is on them. Sixteen
/// hexadecimal digits; two states that differ in any of it have different ones, but for an
/// accident.
std::string fingerprint(const PlanProblem& problem);

std::string plan_text(const PlanProblem& problem, const Plan& plan);

}  // namespace cleave
