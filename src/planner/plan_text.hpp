#pragma once
// A plan as the JSON document of docs/formats.md. Written straight into text: a plan for ten thousand GPUs is
// some megabytes.

#include <string>

#include "planner/planner.hpp"

namespace cleave {

std::string plan_text(const PlanProblem& problem, const Plan& plan);

}  // namespace cleave
