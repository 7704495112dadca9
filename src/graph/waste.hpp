#pragma once
// Slices that an instance makes useless by where it stands (*Optimal Workload Placement*, 3.1.2 and
// table 3; readings G2, O16).

#include "model/geometry.hpp"

namespace cleave {

/// Whether memory and compute slices have the same width, so that an instance blocks the compute
/// slices above its memory. This holds on an A30 and on models with seven compute and eight memory
/// slices. On other models compute is a budget, independent of position.
bool compute_follows_memory(const GpuModel& model);

/// GPU slices: the compute slices that an instance at this placement takes away. Where compute
/// follows memory these are the slices it covers, elsewhere the slices it has.
int gpu_slices(const Geometry& geometry, PlacementId placement);

/// Slices that an instance at this placement makes useless, in addition to those it has.
struct Waste {
  int memory = 0;   // a last memory slice that only this instance could have had
  int compute = 0;  // compute slices it covers by position but does not have
  [[nodiscard]] int slices() const { return memory + compute; }
};
Waste waste(const Geometry& geometry, PlacementId placement);

}  // namespace cleave
