#pragma once
// The least number of GPUs without search: the closed formula of placement/admission.hpp, where it
// applies.

#include <cstdint>
#include <optional>
#include <string>

#include "planner/problem.hpp"

namespace cleave {

struct ClosedForm {
  std::int64_t gpus = 0;  // in use in the best goal, in which nothing is pending
  std::string proof;      // the weights behind it, in words
};

/// Empty where the formula says nothing: GPUs cut in different ways, constraints on where work may
/// be, requests that several profiles satisfy, limits on moves, or more work than the fleet has
/// room for.
std::optional<ClosedForm> closed_form(const PlanProblem& problem);

}  // namespace cleave
