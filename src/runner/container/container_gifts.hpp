#pragma once
// What containers are given of the host's driver, or of simulated GPUs: libraries, which are the
// same for all, and nodes of the instance.

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "runner/container/container.hpp"
#include "runner/container/library_cache.hpp"
#include "runner/device_rules.hpp"

namespace cleave {

/// What all containers are given.
struct ContainerGifts {
  std::optional<DriverNodes> driver;  // whose nodes they get; none where no driver is loaded
  std::vector<BindMount> mounts;
  bool simulated = false;  // so that NVML has to be told what it would find no nodes of
};

/// Where the driver's libraries are in containers; images made for NVIDIA's GPUs look there.
inline constexpr std::string_view libraries_in_container = "/usr/local/nvidia/lib64";

/// Mounts of those libraries of the driver's that programs of CUDA and clients of NVML load, of
/// those that the cache names; `root` is the folder in which they lie.
[[nodiscard]] std::vector<BindMount> driver_libraries(std::span<const CachedLibrary> cached,
                                                      const std::filesystem::path& root);
/// Mounts of a simulated node and its NVML, with the libraries that this needs and that few images
/// have.
[[nodiscard]] std::vector<BindMount> simulated_driver(std::span<const CachedLibrary> cached,
                                                      const std::filesystem::path& node,
                                                      const std::filesystem::path& library);

/// What this machine has: of the driver in `root`, or of the simulated node.
[[nodiscard]] ContainerGifts container_gifts(const std::filesystem::path& root,
                                             const std::optional<std::filesystem::path>& sim_node,
                                             const std::filesystem::path& library);

/// What a container has for these devices, which programs know as `visible`. Fails where the
/// driver does not say which nodes are theirs.
[[nodiscard]] Result<ContainerEdits> edits_for(const ContainerGifts& gifts,
                                               std::span<const JobDevice> devices,
                                               const std::string& visible);

}  // namespace cleave
