#pragma once
// A goal that somebody wrote as a fleet file, and a plan that stands in a file: both are turned
// into what plan_moves and fault work on, and refused where they do not belong to the fleet.

#include <memory>
#include <string>
#include <string_view>

#include "planner/moves/moves.hpp"

namespace cleave {

/// A fleet with the problem made of it, which points into it.
struct GivenProblem {
  std::unique_ptr<FleetFile> file;
  PlanProblem problem;
};

/// From `now` to `goal`, two files of the same GPUs. Work is known by its name: what only the goal
/// has is new, what only `now` has ends. What is not ours, or must stay, has to be the same in
/// both.
struct GivenGoal {
  GivenProblem from;
  Target target;
};
[[nodiscard]] Result<GivenGoal> given_goal(const FleetFile& now, const FleetFile& goal,
                                           const std::string& now_place,
                                           const std::string& goal_place);

/// The moves of a plan file (docs/formats.md) for this fleet. Refused where the plan names another
/// state.
struct GivenMoves {
  GivenProblem from;
  Moves moves;
};
[[nodiscard]] Result<GivenMoves> given_moves(const FleetFile& now, std::string_view plan,
                                             const std::string& now_place,
                                             const std::string& plan_place);

}  // namespace cleave
