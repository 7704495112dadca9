#pragma once
// Which effects of the physical world a simulation includes. Each can be switched off; what was on
// stands in the answer (`world`).

#include <optional>

#include "base/time.hpp"
#include "physics/contention.hpp"

namespace cleave {

/// The terms of a simulated world.
struct WorldTerms {
  LinkSharing link = LinkSharing::spread;
  /// Processes allocate and free more slowly beside other GPU instances (physics/allocation.hpp).
  bool slow_allocation = false;
  bool jitter = false;             // creating and destroying takes drawn times, not medians
  SharingOptions sharing;          // what is not known of time slicing
  Duration mig_switch{};           // to switch MIG off on a GPU, and to switch it on
  bool has_power = true;           // false: no energy, and no cap
  PowerOptions power;              // a site's cap, and what is not known of power
  std::optional<Duration> sample;  // also say what a power meter that polls would have seen
};

}  // namespace cleave
