// Listings of nvidia-smi of many nodes.

#include "model/smi_nodes.hpp"

#include <algorithm>

#include "fuzz.hpp"

namespace cleave::fuzz::smi_nodes_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto nodes = parse_smi_nodes(text, "listing");
  if (nodes) {
    std::vector<std::string> names;
    for (const SmiNodeListing& node : *nodes) {
      require(std::ranges::find(names, node.node) == names.end(), "each node comes once");
      names.push_back(node.node);
    }
  }
  return error_of(nodes);
}

}  // namespace
}  // namespace cleave::fuzz::smi_nodes_target

CLEAVE_FUZZ_TARGET(smi_nodes, judged)
