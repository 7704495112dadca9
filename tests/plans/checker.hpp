#pragma once
// Checks a plan from outside: the fleet and the plan as JSON texts, everything computed again.

#include <string>
#include <string_view>
#include <vector>

#include "figures.hpp"
#include "scene.hpp"

namespace cleave::plans {

/// Everything that is wrong with the plan, in words; empty: nothing. Not for plans with weights,
/// which have other objectives.
std::vector<std::string> check_plan(const Question& question, std::string_view plan);
/// The same, with the fleet read already.
std::vector<std::string> check_plan(const Scene& scene, std::string_view plan);

/// The seats that a plan gives. Faults of the text are added to `found`, and their workloads are
/// pending.
Seats read_seats(const Scene& scene, std::string_view plan, std::vector<std::string>& found);

/// A plan written for these seats, with bounds as tight as the values. For tests of the checker,
/// and to show what the exhaustive search found.
std::string plan_for(const Scene& scene, const Seats& seats);

}  // namespace cleave::plans
