// Plans whose moves are replayed on a fleet.

#include "fuzz.hpp"
#include "model/fleet_file.hpp"
#include "planner/given_goal.hpp"
#include "planner/plan_text.hpp"
#include "planner/planner.hpp"

namespace cleave::fuzz::plan_file_target {
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
  const auto moves = given_moves(fleet(), text, "fleet", "plan");
  // Another state: understood.
  if (!moves && moves.error().kind == ErrorKind::infeasible) return std::nullopt;
  if (!moves) return moves.error();
  (void)fault(moves->from.problem, moves->moves);  // legal or not, there is an answer
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz::plan_file_target

CLEAVE_FUZZ_TARGET(plan_file, judged)
