#include "planner/wpm_parts.hpp"

#include <algorithm>

namespace cleave {

namespace {

/// The largest profile that may start at this slice. Placements are numbered from large to small.
std::optional<PlacementId> largest_at(const Geometry& geometry, PlacementSet free, int slice) {
  for (const PlacementId id : free)
    if (geometry[id].start == slice) return id;
  return std::nullopt;
}

}  // namespace

std::vector<PlacementId> largest_free_partitions(const Geometry& geometry, PlacementSet taken) {
  std::vector<PlacementId> partitions;
  for (int slice = 0; slice < geometry.model().memory_slices.value; ++slice) {
    const auto largest = largest_at(geometry, geometry.free(taken), slice);
    if (!largest) continue;
    taken.insert(*largest);
    partitions.push_back(*largest);
  }
  return partitions;
}

WpmWaste wpm_waste(const Geometry& geometry, PlacementSet taken) {
  WpmWaste waste;
  waste.u = geometry.model().compute.value - geometry.compute(taken).value;
  waste.v = geometry.model().memory_slices.value - geometry.memory(taken).value;
  waste.delta = waste.u > 0 ? 1 : 0;
  waste.U = std::max(0, waste.u - waste.v);
  waste.V = std::max(0, waste.v - geometry.model().memory_slices.value * waste.delta);
  return waste;
}

}  // namespace cleave
