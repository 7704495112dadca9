#pragma once
// Pieces of the integer model of *Optimal Workload Placement*, 4.1, as the paper has them, for
// comparison.

#include <vector>

#include "model/geometry.hpp"

namespace cleave {

/// Algorithm 1: the largest partitions that can still be made on a GPU. From slice to slice
/// upwards, the largest profile that may start there is put there.
std::vector<PlacementId> largest_free_partitions(const Geometry& geometry, PlacementSet taken);

/// The slack and waste of one GPU under constraints (2f), (2g) and (2i) to (2k), in slices (reading
/// O1).
struct WpmWaste {
  int u = 0, v = 0;  // compute and memory that is left
  int U = 0, V = 0;  // of it, what the model counts as wasted
  int delta = 0;     // 1: compute is left
};
WpmWaste wpm_waste(const Geometry& geometry, PlacementSet taken);

}  // namespace cleave
