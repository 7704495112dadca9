#pragma once
// The simulated GPUs that a daemon makes for itself with --simulate, in STATE/sim-node.

#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace cleave {

/// Makes the node, or takes the existing one if it has these GPUs. Returns its directory.
[[nodiscard]] Result<std::filesystem::path> own_sim_node(const std::filesystem::path& state,
                                                         const std::string& gpus, bool instant);

/// Where the simulated library of this program is; it may be missing.
[[nodiscard]] std::filesystem::path own_simulated_library();

}  // namespace cleave
