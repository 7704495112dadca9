#pragma once
// A GPU model as its driver would describe it: the model's table with every gap filled, so that
// NVML has an answer. The functions that fill gaps say how; the planner and the rest of Cleave
// never see these numbers.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/geometry.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::sim {

/// What NVML says about a board and the model's table does not have. Clocks without a source are
/// those of the vendor's data sheets, or of the family if there are none.
struct BoardRow {
  GpuModelId id;
  std::uint32_t pci_device;  // as NVML gives it: device, then vendor
  std::uint32_t pcie_generation;
  std::uint32_t sm_mhz, memory_mhz;  // maximum clocks
  std::uint32_t memory_bits;         // width of the bus to the memory
  std::uint32_t assumed_sms;         // of the H100 or B200, if the model's table has none
  std::uint32_t brand;               // NVML's number
  bool upper_half_first;             // in the numbering of GPU instances: see gpu_instance_id
};

inline constexpr std::uint32_t brand_nvidia = 14, brand_rtx = 15;  // of NVML's header

/// A profile of GPU instances with every gap in the model's table filled.
struct ProfileFacts {
  const Profile* profile;
  std::uint32_t id;  // NVML's profile id
  std::uint64_t memory_mib;
  std::uint32_t sms;
  Engines engines;
};

/// A profile of compute instances in one kind of GPU instance.
struct ComputeProfile {
  std::uint32_t number;  // NVML's number and id, which are the same
  std::uint32_t slices, most, sms;
  std::vector<std::uint32_t> starts;  // compute slices of the GPU instance
};

/// All that NVML can be asked about boards of one model.
struct Board {
  BoardRow row;
  const GpuModel* model;
  Geometry geometry;                                // of all its profiles
  std::vector<ProfileFacts> profiles;               // by the model's index
  std::vector<std::vector<PlacementId>> preferred;  // of each profile, in the driver's order
  std::vector<std::vector<ComputeProfile>> compute_profiles;  // of each profile
  std::uint64_t memory_mib, usable_mib;                       // of the whole GPU
  std::uint32_t sms;
};

/// The board of a model that the tables describe; made once and kept.
const Board& board_of(const GpuModel& model);

/// NVML's number of a GPU instance at this placement.
std::uint32_t gpu_instance_id(const Board& board, PlacementId placement,
                              InstanceNumbering numbering);

/// The profile with this NVML id, as an index into the model's profiles.
std::optional<std::size_t> profile_by_id(const Board& board, std::uint32_t id);
/// Whether any model has a profile with this id.
bool known_profile_id(std::uint32_t id);

/// "1g.5gb", or "1c.3g.20gb" for part of it.
std::string device_profile_name(const Profile& profile, std::uint32_t compute_slices);

}  // namespace cleave::sim
