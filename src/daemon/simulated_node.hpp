#pragma once
// The simulated GPUs that a daemon makes for itself with --simulate, in STATE/sim-node.

#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace cleave {

/// Makes the node, or uses the one that is there, if it has these GPUs. Its directory.
[[nodiscard]] Result<std::filesystem::path> own_sim_node(const std::filesystem::path& state,
                                                         const std::string& gpus, bool instant);

/// The simulated library that belongs to this program; it may be missing.
[[nodiscard]] std::filesystem::path own_simulated_library();

}  // namespace cleave
