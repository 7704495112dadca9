// Goals of migrations; a plan then leads there or says why not.

#include "fuzz.hpp"
#include "model/fleet_file.hpp"
#include "planner/given_goal.hpp"
#include "planner/planner.hpp"

namespace cleave::fuzz::goal_file_target {
namespace {

/// Two GPUs with work that moves.
constexpr std::string_view fleet_text = R"({"gpus": [
  {"name": "n0/0", "model": "A100-40GB", "instances": [
    {"profile": "3g.20gb", "start": 0, "workload": "a"},
    {"profile": "1g.5gb", "start": 6, "owned": false}]},
  {"name": "n0/1", "model": "A100-40GB", "instances": [
    {"profile": "2g.10gb", "start": 4, "workload": "b", "group": "g", "max_moving": 1},
    {"profile": "1g.5gb", "start": 0}]}],
  "waiting": [{"workload": "c", "profile": "1g.5gb"}]})";

const FleetFile& fleet() {
  static const FleetFile read = *parse_fleet(fleet_text, "fleet", {});
  return read;
}

std::optional<Error> read_input(const std::string& text) {
  const auto goal = parse_fleet(text, "goal", {});
  if (!goal) return goal.error();
  if (goal->gpus.size() > 1000) return std::nullopt;
  const auto given = given_goal(fleet(), *goal, "fleet", "goal");
  if (!given) return given.error();
  const auto plan = plan_to(given->from.problem, given->target, {true});
  if (!plan && plan.error().kind != ErrorKind::infeasible) return plan.error();
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz::goal_file_target

CLEAVE_FUZZ_TARGET(goal_file, judged)
