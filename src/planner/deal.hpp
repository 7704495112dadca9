#pragma once
// From counts to a goal: the solution of the programme dealt out to the GPUs and workloads there
// are.

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/count_model.hpp"

namespace cleave {

/// Empty where replicas of a group that the counts allow cannot be kept apart on the GPUs they were
/// counted for.
std::optional<Goal> deal(const PlanProblem& problem, const PatternMaker& maker,
                         const CountModel& model, const std::vector<std::int64_t>& solution,
                         bool limits);

}  // namespace cleave
