#pragma once
// What a plan minimises, one objective after the other, and the value of each for a goal, counted
// from the goal itself.

#include <span>
#include <string_view>
#include <vector>

#include "planner/problem.hpp"

namespace cleave {

/// deploy, compact, joint: pending memory slices, GPUs in use, wasted slices, memory slices of
/// running work that leaves its place (moved within its GPU, to another, or stopped), GPUs on which
/// a present instance must be destroyed for one of the goal. reconfigure: instead of the last two,
/// GPUs of the goal that hold work now, then memory slices that move.
std::span<const std::string_view> objective_names(ProblemKind kind);

/// In the order of the names.
std::vector<std::int64_t> objective_values(const PlanProblem& problem, const Goal& goal);

}  // namespace cleave
