#pragma once
// Which programs keep instances of a simulated GPU from being destroyed: those that have a handle
// of their MIG device. No real driver tells.

#include <cstdint>
#include <filesystem>
#include <vector>

namespace cleave {

/// By pid, without this process; none where there is no such node or GPU.
std::vector<std::uint32_t> sim_holders(const std::filesystem::path& directory, std::uint32_t gpu);

}  // namespace cleave
