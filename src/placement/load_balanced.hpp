#pragma once
// `load-balanced`: the GPU with the fewest compute and memory slices held by work, over its total,
// at the lowest start (*Optimal Workload Placement*, the baseline of section V; reading O12). Walls
// are no load.

#include "placement/policy.hpp"

namespace cleave {

inline std::int32_t load_balanced_gpu_score(const GpuView& gpu, const PolicyOptions&) {
  return share_of_slices(gpu, gpu.state.held_compute + gpu.state.held_memory);
}

inline Score load_balanced_score(const GpuView& gpu, PlacementId placement, const PolicyOptions&) {
  return {gpu.graph.geometry()[placement].start, 0};
}

}  // namespace cleave
