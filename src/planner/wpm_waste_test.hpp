#pragma once
// The waste of one GPU as the integer model of *Optimal Workload Placement*, 4.1, counts it, for
// comparison with our own: constraints (2f), (2g) and (2i) to (2k), in slices (reading O1).

#include <algorithm>

#include "model/geometry.hpp"

namespace cleave {

/// The model's variables for one GPU.
struct WpmWaste {
  int u = 0, v = 0;  // compute and memory that is left
  int U = 0, V = 0;  // of it, what the model counts as wasted
  int delta = 0;     // 1: compute is left
};

inline WpmWaste wpm_waste(const Geometry& geometry, PlacementSet taken) {
  WpmWaste waste;
  waste.u = geometry.model().compute.value - geometry.compute(taken).value;
  waste.v = geometry.model().memory_slices.value - geometry.memory(taken).value;
  waste.delta = waste.u > 0 ? 1 : 0;
  waste.U = std::max(0, waste.u - waste.v);
  waste.V = std::max(0, waste.v - geometry.model().memory_slices.value * waste.delta);
  return waste;
}

}  // namespace cleave
