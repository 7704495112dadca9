#pragma once
// Profiles and instances as the driver describes them, as rows of the tables of `mig`.

#include "smi/mig_tables.hpp"
#include "smi/nvml.hpp"

namespace cleave::smi {

/// The profiles of a GPU with their names.
struct NamedProfile {
  DriverProfile profile;
  std::string name;
};
[[nodiscard]] DriverAnswer<std::vector<NamedProfile>> named_profiles(Door& door, std::uint32_t gpu);

/// A GPU instance with its profile.
struct NamedInstance {
  LiveGpuInstance instance;
  NamedProfile of;
};
/// The GPU instances by profile, as the driver numbers these, and id.
[[nodiscard]] DriverAnswer<std::vector<NamedInstance>> named_instances(Door& door,
                                                                       std::uint32_t gpu);
/// "1c.3g.20gb", or the GPU instance's own name for all of it.
std::string compute_name(const NamedProfile& of, std::uint32_t slices);

[[nodiscard]] DriverAnswer<std::vector<GpuProfileRow>> gpu_profile_rows(
    Door& door, const nvml::EveryFunction& functions, std::uint32_t gpu);
[[nodiscard]] DriverAnswer<std::vector<PlacementsRow>> placements_rows(Door& door,
                                                                       std::uint32_t gpu);
[[nodiscard]] DriverAnswer<std::vector<GpuInstanceRow>> gpu_instance_rows(Door& door,
                                                                          std::uint32_t gpu);
[[nodiscard]] DriverAnswer<std::vector<ComputeProfileRow>> compute_profile_rows(
    Door& door, const nvml::EveryFunction& functions, std::uint32_t gpu);
[[nodiscard]] DriverAnswer<std::vector<ComputeInstanceRow>> compute_instance_rows(
    Door& door, std::uint32_t gpu);

}  // namespace cleave::smi
