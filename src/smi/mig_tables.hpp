#pragma once
// `mig -lgip`, `-lgipp`, `-lcip`, `-lgi` and `-lci`: profiles, placements and instances as tables,
// in the shape that `cleave import smi` reads (model/smi_text.hpp).

#include <string>
#include <vector>

#include "device/door.hpp"

namespace cleave::smi {

/// A profile of GPU instances on a GPU.
struct GpuProfileRow {
  std::uint32_t gpu = 0;
  std::string name;  // "1g.5gb"
  std::uint32_t id = 0, free = 0, most = 0;
  std::uint64_t memory_mib = 0;
  bool peers = false;  // P2P
  std::uint32_t sms = 0;
  Engines engines;
};

/// The placements of a profile.
struct PlacementsRow {
  std::uint32_t gpu = 0, profile = 0;
  std::vector<Span> placements;  // all of one size
};

/// A GPU instance.
struct GpuInstanceRow {
  std::uint32_t gpu = 0;
  std::string profile;
  std::uint32_t profile_id = 0, id = 0;
  Span placement;
};

/// A profile of compute instances in a GPU instance.
struct ComputeProfileRow {
  std::uint32_t gpu = 0, gpu_instance = 0;
  std::string name;  // "1c.3g.20gb"
  std::uint32_t id = 0, free = 0, most = 0;
  bool whole = false;  // it takes all of the GPU instance
  std::uint32_t sms = 0;
  Engines engines;
};

/// A compute instance.
struct ComputeInstanceRow {
  std::uint32_t gpu = 0, gpu_instance = 0;
  std::string profile;
  std::uint32_t profile_id = 0, id = 0;
  Span placement;
};

std::string table(const std::vector<GpuProfileRow>& rows);
std::string lines(const std::vector<PlacementsRow>& rows);
std::string table(const std::vector<GpuInstanceRow>& rows);
std::string table(const std::vector<ComputeProfileRow>& rows);
std::string table(const std::vector<ComputeInstanceRow>& rows);

}  // namespace cleave::smi
