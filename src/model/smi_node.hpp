#pragma once
// The GPUs of one node, from listings of nvidia-smi checked against the GPU model's table. What the
// table does not allow, and listings that contradict each other, are refused; the error names the
// row.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/geometry.hpp"
#include "model/smi_text.hpp"

namespace cleave {

/// A GPU instance of a listing.
struct SmiGpuInstance {
  PlacementId placement = 0;            // in the geometry
  int id = 0;                           // as the driver counts, for `nvidia-smi mig -gi`
  std::map<int, std::string> computes;  // names of its compute instances by ID
};

/// A GPU of a listing.
struct SmiGpu {
  int index = 0;
  std::vector<SmiGpuInstance> instances;  // by start
};

/// The GPUs that have a row, by index; with `gpu_count` all GPUs of the node, listed or not.
[[nodiscard]] Result<std::vector<SmiGpu>> smi_gpus(const SmiListing& listing,
                                                   const Geometry& geometry,
                                                   std::optional<int> gpu_count);

}  // namespace cleave
