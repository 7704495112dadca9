// Plans that are handed to the daemon, from a file or over the socket.

#include "api/plan_documents.hpp"
#include "base/json.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::plan_order_target {
namespace {

/// What was read is written such that it is read again.
bool read_input(const std::string& text) {
  const auto document = parse_json(text, "plan");
  if (!document) return false;
  const auto order = read_plan_order(*document, "plan");
  if (!order) return false;
  PlanOrder plain = *order;
  for (PlannedMove& move : plain.moves) {
    move.state = MovePhase::open;
    move.why_not.clear();
  }
  const auto again = read_plan_order(to_json(plain), "plan");
  require(again.has_value() && *again == plain, "a plan is not read as it was written");
  return true;
}

}  // namespace
}  // namespace cleave::fuzz::plan_order_target

CLEAVE_FUZZ_TARGET(plan_order, counted)
