#pragma once
// A node's pool as the two ResourceSlices of resource.k8s.io/v1 that Kubernetes 1.36 wants: one
// with the counters of its GPUs, which changes only when the GPUs do, and one with all devices in
// their order. A new order is one write of the second, so that no scheduler ever sees half of it.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.hpp"
#include "kube/device_order.hpp"

namespace cleave {

/// Whose pool it is.
struct KubePool {
  std::string node;      // its name, and the pool's
  std::string node_uid;  // so that the slices go with the node; may be empty
  std::int64_t generation = 1;
};

/// "00-cleave-NODE" has the counters, "01-cleave-NODE" the devices.
[[nodiscard]] std::string counters_slice_name(std::string_view node);
[[nodiscard]] std::string devices_slice_name(std::string_view node);

[[nodiscard]] Json counters_slice(const KubePool& pool, std::span<const KubeGpu> gpus);
/// A device of `refused` has a taint that keeps pods away from it, and so has one in whose place
/// somebody else is.
[[nodiscard]] Json devices_slice(const KubePool& pool, std::span<const KubeGpu> gpus,
                                 std::span<const KubeDevice> devices, const KubeDevices& refused);

/// The devices that a slice publishes, of those that the GPUs have; what it says otherwise is
/// passed over. Before the first update they are what was offered a moment ago.
[[nodiscard]] KubeDevices published_devices(const Json& slice, std::span<const KubeGpu> gpus);

/// Whether the API server's slice says what ours does; it adds fields of its own.
[[nodiscard]] bool says_the_same(const Json& theirs, const Json& ours);

/// Annotations of the slice of devices, for the controller: the devices in whose place others than
/// Kubernetes are, and the GPUs that take nothing now, each a list with spaces. A driver that has
/// none of these writes none.
inline constexpr const char *taken_note = "cleave.gpu/taken-by-others",
                            *closed_note = "cleave.gpu/closed-gpus";

/// Published devices that share slices with `kept` and are not it: while room is kept for a pod,
/// nobody else is to have any of it.
[[nodiscard]] KubeDevices held_for(std::span<const KubeGpu> gpus, const KubeDevice& kept);

/// The taint of devices that cannot be had now.
inline constexpr std::string_view refused_taint = "cleave.gpu/unavailable";

}  // namespace cleave
