#pragma once
// `largest-gap`: the placement that leaves the longest run of free memory slices on its GPU, among
// equals on the fullest GPU; as HAMi scores MIG placements since 2026 (issue 2831 there). Idle
// instances count as free.

#include "placement/policy.hpp"

namespace cleave {

inline std::int32_t largest_gap_gpu_score(const GpuView&, const PolicyOptions&) {
  return 0;
}

inline Score largest_gap_score(const GpuView& gpu, PlacementId placement, const PolicyOptions&) {
  const StateId now = gpu.state.occupied;
  const int left = gpu.graph.longest_free_run(gpu.graph.add(now, placement)).value;
  return {-left, -share_of_slices(gpu, gpu.graph.compute(now).value + gpu.graph.memory(now).value)};
}

}  // namespace cleave
