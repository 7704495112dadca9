#pragma once
// `reachability`: on the lowest-numbered GPU that can take the request, or with `across=best` on
// any, an idle instance of the profile where there is one, else the placement after which most
// maximal states can still be reached (*Managing Multi Instance GPUs*, 4.2, algorithm 3).

#include "placement/policy.hpp"

namespace cleave {

inline std::int32_t reachability_gpu_score(const GpuView&, const PolicyOptions&) {
  return 0;
}

inline Score reachability_score(const GpuView& gpu, PlacementId placement, const PolicyOptions&) {
  const int fresh = gpu.state.idle.contains(placement) ? 0 : 1;
  return {fresh, -gpu.graph.reachability(gpu.graph.add(gpu.state.occupied, placement))};
}

}  // namespace cleave
