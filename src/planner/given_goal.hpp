#pragma once
// A goal written by a user as a fleet file, and a plan from a file. Both are turned into the types
// that plan_moves and fault work on, and refused if they do not belong to the fleet.

#include <memory>
#include <string>
#include <string_view>

#include "planner/moves/moves.hpp"

namespace cleave {

/// A fleet with the problem made from it, which points into it.
struct GivenProblem {
  std::unique_ptr<FleetFile> file;
  PlanProblem problem;
};

/// From `now` to `goal`, two files of the same GPUs. Work is identified by its name: work that only
/// the goal has is new, work that only `now` has ends. Instances that are not ours, or must stay,
/// have to be the same in both.
struct GivenGoal {
  GivenProblem from;
  Target target;
};
[[nodiscard]] Result<GivenGoal> given_goal(const FleetFile& now, const FleetFile& goal,
                                           const std::string& now_place,
                                           const std::string& goal_place);

/// The moves of a plan file (docs/formats.md) for this fleet. Refused if the plan was made for
/// another state of the fleet.
struct GivenMoves {
  GivenProblem from;
  Moves moves;
};
[[nodiscard]] Result<GivenMoves> given_moves(const FleetFile& now, std::string_view plan,
                                             const std::string& now_place,
                                             const std::string& plan_place);

}  // namespace cleave
