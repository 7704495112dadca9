#pragma once
// `cleave sim-node enter` and `root`: the host around simulated GPUs, for one command or in a
// folder.

#include <string>
#include <vector>

#include "base/result.hpp"

namespace cleave::cli {

/// Becomes the command, on a host with the node's GPUs; returns only if it cannot.
[[nodiscard]] Result<int> enter_sim_host(const std::string& node,
                                         const std::vector<std::string>& command);

/// Writes the host's files below a folder; with `follow`, keeps them up to date until interrupted
/// or the node is destroyed.
[[nodiscard]] Result<int> write_sim_host(const std::string& node, const std::string& folder,
                                         bool follow);

}  // namespace cleave::cli
