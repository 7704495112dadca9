#pragma once
// How claims stand and what they could still have, as values for the daemon's server.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/gpu_executor.hpp"
#include "model/claim.hpp"

namespace cleave {

/// A claim, and what the GPUs show of its instances.
struct ClaimStatus {
  Claim claim;
  /// Of one place of the claim, in their order.
  struct Place {
    std::optional<std::uint32_t> gpu;            // NVML's index; empty: not managed
    std::optional<JobDevice::Instance> numbers;  // the driver's
    std::optional<MiB> memory;                   // for programs
    std::int64_t compute_slices = 0, memory_slices = 0;
  };
  std::vector<Place> places;
};

/// Of one profile by name the most instances that can be made now at once, of that profile alone:
/// idle instances of ours count as room, everything else that stands does not.
using RoomByProfile = std::map<std::string, std::int64_t>;

/// What claims could have now, by position. Profiles that a GPU has and for which there is no room
/// are there with 0.
struct NodeRoom {
  struct Gpu {
    std::uint32_t index = 0;
    std::string uuid;
    RoomByProfile profiles;
  };
  std::vector<Gpu> gpus;
  RoomByProfile profiles;  // of all together
};

}  // namespace cleave
