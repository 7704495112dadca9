#pragma once
// A table of a cluster's nodes, as Alibaba's cluster-trace-v2026-spot-gpu has it, as a fleet.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/gpu_model.hpp"

namespace cleave {

/// A node with GPUs of one model.
struct ListedNode {
  std::string name;
  const GpuModel* model = nullptr;
  std::int64_t gpus = 0, cpus = 0;
};

/// The nodes whose GPUs have MIG, and what was left out, by the name of the GPU in the table.
struct NodeList {
  struct LeftOut {
    std::size_t nodes = 0, gpus = 0;
  };
  std::vector<ListedNode> nodes;
  std::size_t gpus = 0;
  std::map<std::string, LeftOut> left_out;
};

/// `place` is the file's name. Fails where no node is left.
[[nodiscard]] Result<NodeList> parse_node_list(std::string_view text, const std::string& place);

/// The fleet file.
[[nodiscard]] std::string fleet_text(const NodeList& nodes);

}  // namespace cleave
