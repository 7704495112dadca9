#include "graph/fragmentation.hpp"

#include <algorithm>
#include <cassert>

namespace cleave {

std::vector<FitCount> fit_counts(const Geometry& geometry, PlacementSet occupied) {
  const SliceMask taken = geometry.slices(occupied);
  const ComputeSlices compute = geometry.model().compute - geometry.compute(occupied);
  const MemorySlices memory = geometry.model().memory_slices - geometry.memory(occupied);
  std::vector<FitCount> counts;
  for (const Profile* profile : geometry.profile_list()) {
    if (profile->attribute != Attribute::none) continue;
    const int ideal =
        std::min(compute.value / profile->compute.value, memory.value / profile->memory.value);
    int valid = 0;
    for (const PlacementId id :
         geometry.of_profile(static_cast<int>(profile - geometry.model().profiles.data())))
      if ((geometry[id].slices & taken) == 0) ++valid;
    counts.push_back({profile, ideal, valid});
  }
  return counts;
}

FragmentationCost fragmentation_cost(const Geometry& geometry, PlacementSet occupied) {
  const auto counts = fit_counts(geometry, occupied);
  if (counts.empty()) return {};
  const int share = FragmentationCost::denominator / static_cast<int>(counts.size());
  assert(share * static_cast<int>(counts.size()) == FragmentationCost::denominator);
  FragmentationCost cost;
  for (const FitCount& count : counts) {
    if (count.ideal == 0) continue;
    assert(share % count.ideal == 0);
    cost.units += share / count.ideal * (count.ideal - count.valid);
  }
  return cost;
}

}  // namespace cleave
