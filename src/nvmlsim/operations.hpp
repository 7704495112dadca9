#pragma once
// The operations that change a GPU: create and destroy instances, switch MIG. Each returns what the
// driver would, takes the time that physics/ gives (none on an instant node), and happens
// completely or not at all, whenever the program is killed.

#include "nvmlsim/node.hpp"

namespace cleave::sim {

nvml::Return create_gpu_instance(Node& node, std::uint32_t gpu, std::uint32_t profile_id,
                                 const nvml::GpuInstancePlacement* wanted, std::uint64_t& serial);
nvml::Return destroy_gpu_instance(Node& node, std::uint32_t gpu, std::uint64_t serial);

/// Creates a compute instance in the GPU instance `parent`.
nvml::Return create_compute_instance(Node& node, std::uint32_t gpu, std::uint64_t parent,
                                     std::uint32_t profile_id,
                                     const nvml::ComputeInstancePlacement* wanted,
                                     std::uint64_t& serial);
nvml::Return destroy_compute_instance(Node& node, std::uint32_t gpu, std::uint64_t serial);

/// `activation` says whether the mode is active, or why it is only pending.
nvml::Return set_mig_mode(Node& node, std::uint32_t gpu, std::uint32_t mode,
                          nvml::Return& activation);

}  // namespace cleave::sim
