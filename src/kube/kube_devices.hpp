#pragma once
// Instances as Kubernetes' dynamic resource allocation sees them: each placement of each GPU is a
// device with a name of its own, whether an instance stands there or not. Names never change, since
// an allocation is remembered by name alone.

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/geometry.hpp"

namespace cleave {

/// The driver's name in Kubernetes, and the vendor of its CDI devices.
inline constexpr std::string_view kube_driver = "cleave.gpu";
/// Limits of the API on a pool that is written at once: devices that consume counters in one slice,
/// and sets of counters.
inline constexpr std::size_t most_kube_devices = 64, most_kube_gpus = 8;

/// A GPU of the node.
struct KubeGpu {
  std::string uuid;
  std::int64_t index = 0;  // NVML's
  Geometry geometry;
  PlacementSet taken;  // by others than Kubernetes: foreign instances, jobs, other engines' claims
  bool usable = true;  // takes new work
};

/// A placement on one of the node's GPUs.
struct KubeDevice {
  std::size_t gpu = 0;  // its place in the list
  PlacementId placement = 0;
  friend auto operator<=>(const KubeDevice&, const KubeDevice&) = default;
};
using KubeDevices = std::set<KubeDevice>;

/// A profile as a part of names: "1g.10gb+me" is "1g-10gb-me", "1g.24gb-me" is
/// "1g-24gb-without-me".
[[nodiscard]] std::string profile_label(std::string_view profile);

/// "gpu5c6d...-1g-10gb-0": the whole UUID, so that no two GPUs of a cluster share a name.
[[nodiscard]] std::string gpu_label(std::string_view uuid);
[[nodiscard]] std::string device_name(const KubeGpu& gpu, PlacementId placement);
/// The device with this name; nothing where no GPU of the list has it.
[[nodiscard]] std::optional<KubeDevice> find_device(std::span<const KubeGpu> gpus,
                                                    std::string_view name);

}  // namespace cleave
