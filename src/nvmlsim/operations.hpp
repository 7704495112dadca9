#pragma once
// What changes a GPU: instances made and destroyed, MIG switched. Each answers as the driver would,
// takes the time that the physics say (none on an instant node) and happens whole or not at all,
// whenever the program is killed.

#include "nvmlsim/node.hpp"

namespace cleave::sim {

nvml::Return create_gpu_instance(Node& node, std::uint32_t gpu, std::uint32_t profile_id,
                                 const nvml::GpuInstancePlacement* wanted, std::uint64_t& serial);
nvml::Return destroy_gpu_instance(Node& node, std::uint32_t gpu, std::uint64_t serial);

/// In the GPU instance `parent`.
nvml::Return create_compute_instance(Node& node, std::uint32_t gpu, std::uint64_t parent,
                                     std::uint32_t profile_id,
                                     const nvml::ComputeInstancePlacement* wanted,
                                     std::uint64_t& serial);
nvml::Return destroy_compute_instance(Node& node, std::uint32_t gpu, std::uint64_t serial);

/// `activation`: whether the mode is what was asked for, or why it only waits.
nvml::Return set_mig_mode(Node& node, std::uint32_t gpu, std::uint32_t mode,
                          nvml::Return& activation);

}  // namespace cleave::sim
