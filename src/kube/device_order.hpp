#pragma once
// In which order the devices of a node are published. The scheduler takes the first that fits a
// request, so the order is where a placement is decided:
//
//   - profiles from small to large, so that a request by size has the smallest that serves it;
//   - of each profile the policy's greedy sequence: its choice, then its choice given the first is
//     taken, and so on, so that several pods between two updates are placed well too;
//   - last what nobody can have now, because it is allocated.
//
// The law: a device that is allocated, or was offered a moment ago and may be in an allocation that
// is on its way, is always published. The scheduler subtracts only the counters of devices that it
// sees; one that is left out is given away twice.

#include <cstdint>
#include <span>
#include <vector>

#include "kube/kube_devices.hpp"

namespace cleave {

/// By which rule devices of one profile are ordered.
enum class KubeOrder : std::uint8_t {
  policy,  // least fragmentation, as the daemon places claims
  fixed    // by GPU and start: what is right however late an update comes
};

/// What Kubernetes has of the node, as far as it is known.
struct KubeUse {
  KubeDevices allocated;
  KubeDevices offered;  // published without a taint a moment ago
};

/// The devices to publish, in their order; most_kube_devices at most. Where all do not fit, each
/// profile has a share by how many of it could be had, and at least one.
[[nodiscard]] std::vector<KubeDevice> devices_in_order(std::span<const KubeGpu> gpus,
                                                       const KubeUse& use, KubeOrder order);

/// Of a full list, the devices that are there only because they were offered a moment ago: with a
/// taint they are offered no longer, and their places are others' soon.
[[nodiscard]] KubeDevices surplus_of(std::span<const KubeGpu> gpus, const KubeUse& use,
                                     std::span<const KubeDevice> devices, KubeOrder order);

/// Whether somebody other than Kubernetes is in the device's place, or its GPU takes nothing now.
[[nodiscard]] bool is_in_the_way(std::span<const KubeGpu> gpus, const KubeDevice& device);

}  // namespace cleave
