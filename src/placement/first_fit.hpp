#pragma once
// `first-fit`: the lowest-numbered GPU that can take the request, at the lowest start. What most
// tools do today, and the baseline of *Optimal Workload Placement* and of *An Online
// Fragmentation-Aware Scheduler*.

#include "placement/policy.hpp"

namespace cleave {

inline std::int32_t first_fit_gpu_score(const GpuView&, const PolicyOptions&) {
  return 0;
}

inline Score first_fit_score(const GpuView& gpu, PlacementId placement, const PolicyOptions&) {
  return {gpu.graph.geometry()[placement].start, 0};
}

}  // namespace cleave
