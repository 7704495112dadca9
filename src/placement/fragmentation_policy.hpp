#pragma once
// `fragmentation`: conditional load balancing with the least fragmentation (*An Online
// Fragmentation-Aware Scheduler*, IV-C, steps 1 to 4). Lazy GPUs, whose load is below the
// threshold, come before busy ones; among the placements of the class the least fragmentation cost
// of the GPU after it, or with `across=rise` the least increase. Idle instances do not count as
// occupied.

#include "placement/policy.hpp"

namespace cleave {

inline std::int32_t fragmentation_gpu_score(const GpuView& gpu, const PolicyOptions& options) {
  return busy(gpu, options) ? 1 : 0;
}

inline Score fragmentation_score(const GpuView& gpu, PlacementId placement,
                                 const PolicyOptions& options) {
  const int after = gpu.graph.cost(gpu.graph.add(gpu.state.occupied, placement)).units;
  const int before = options.across == Across::rise ? gpu.graph.cost(gpu.state.occupied).units : 0;
  return {after - before, 0};
}

}  // namespace cleave
