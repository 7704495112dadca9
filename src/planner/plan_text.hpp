#pragma once
// A plan as the JSON document of docs/formats.md. Written directly as text: a plan for ten thousand
// GPUs has some megabytes.

#include <string>

#include "planner/planner.hpp"

namespace cleave {

/// Identifies the state of a fleet that a plan was made for: its GPUs and what is on them. Sixteen
/// hexadecimal digits (a 64-bit hash): different states almost certainly have different
/// fingerprints.
std::string fingerprint(const PlanProblem& problem);

std::string plan_text(const PlanProblem& problem, const Plan& plan);

}  // namespace cleave
