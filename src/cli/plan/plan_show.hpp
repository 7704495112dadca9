#pragma once
// A plan as people read it: what it achieves, every GPU that changes before and after, what moves,
// the metrics beside those of now, and on request why nothing better exists.

#include <string>

#include "planner/planner.hpp"

namespace cleave::cli {

std::string plan_for_people(const PlanProblem& problem, const Plan& plan, bool explain);

}  // namespace cleave::cli
