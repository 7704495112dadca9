#pragma once
// `preference`: the fullest GPU that can take the request, at the first free start in the vendor's
// order
// (*Optimal Workload Placement*, table 1 and the rules of section IV; readings O4 and O5). Where no
// source gives a model's order it is ascending, which `cleave gpu` marks as inferred. Walls count
// as full, idle instances as free.

#include "placement/policy.hpp"

namespace cleave {

inline std::int32_t preference_gpu_score(const GpuView& gpu, const PolicyOptions&) {
  return -share_of_slices(gpu, (gpu.graph.compute(gpu.state.occupied).value +
                                gpu.graph.memory(gpu.state.occupied).value));
}

inline Score preference_score(const GpuView& gpu, PlacementId placement, const PolicyOptions&) {
  const Placement& where = gpu.graph.geometry()[placement];
  return {where.profile->starts.rank(where.start), 0};
}

}  // namespace cleave
