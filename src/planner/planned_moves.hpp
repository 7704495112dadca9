#pragma once
// The waves of a plan as moves of a daemon's jobs (model/live_plan.hpp). What else a wave does -
// instances that are made and destroyed - follows from them, and the daemon decides it by the GPUs
// as they are then.

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/live_plan.hpp"
#include "planner/moves/moves.hpp"

namespace cleave {

/// `uuids`: of the problem's GPUs. Work is known by its name (workload_of). New work is left to the
/// daemon's scheduler. Fails where running work would be stopped.
[[nodiscard]] Result<std::vector<PlannedMove>> planned_moves(const PlanProblem& problem,
                                                             const Moves& moves,
                                                             std::span<const std::string> uuids);

}  // namespace cleave
