#pragma once
// A plan as an order to a daemon: its moves, and how long they are expected to take on its node.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/live_plan.hpp"
#include "planner/planner.hpp"

namespace cleave {

/// What is known of a job that may be moved.
struct JobMoveTimes {
  std::int64_t job = 0;
  bool saves_first = false;  // it is stopped; otherwise a replica takes over
  Duration saves{};          // to save its work and end, at most
  Duration starts{};
};

/// What is known of a node: its jobs, and how long changes take there as a multiple of the
/// planner's law; empty where none was seen yet.
struct NodeTimes {
  std::vector<JobMoveTimes> jobs;
  std::optional<double> creates, destroys;
};

/// How long a plan is expected to take, and of what that is made up.
struct PlanTime {
  Duration changes{}, saving{}, starting{};
  [[nodiscard]] Duration all() const { return changes + saving + starting; }
};

/// Waves follow one another; the jobs of a wave save their work and start at the same time. How
/// long it takes to fill a job's memory is in the time of its start.
[[nodiscard]] PlanTime expected_time(const PlanProblem& problem, const Plan& plan,
                                     std::span<const PlannedMove> moves, const NodeTimes& times);

/// `uuids`: of the problem's GPUs. Fails where the plan stops jobs, starts some itself, or has more
/// moves than are carried out at a time.
[[nodiscard]] Result<PlanOrder> plan_order(const PlanProblem& problem, const Plan& plan,
                                           std::span<const std::string> uuids,
                                           const NodeTimes& times);

}  // namespace cleave
