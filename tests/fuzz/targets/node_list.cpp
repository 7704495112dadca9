// Tables of nodes; what was read is a fleet.

#include "model/node_list.hpp"

#include "fuzz.hpp"
#include "model/fleet_file.hpp"

namespace cleave::fuzz::node_list_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto list = parse_node_list(text, "nodes");
  if (list && list->gpus < 10'000)
    require(parse_fleet(fleet_text(*list), "fleet", {}).has_value(), "what is written is a fleet");
  return error_of(list);
}

}  // namespace
}  // namespace cleave::fuzz::node_list_target

CLEAVE_FUZZ_TARGET(node_list, judged)
