#pragma once
// What the functions of sim_node.hpp for existing nodes share.

#include "nvmlsim/gpu_rules.hpp"
#include "nvmlsim/node.hpp"

namespace cleave::sim {

/// The node in this directory, unless it is being destroyed.
[[nodiscard]] Result<std::unique_ptr<Node>> open_living(const std::filesystem::path& directory);

std::string gpu_place(const std::filesystem::path& directory, std::uint32_t gpu);

}  // namespace cleave::sim
