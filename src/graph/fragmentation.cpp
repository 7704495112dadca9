#include "graph/fragmentation.hpp"

#include <algorithm>
#include <cassert>

namespace cleave {

namespace {

bool is_plain(const Geometry& geometry, std::size_t profile) {
  return (geometry.profiles() >> profile & 1U) != 0 &&
         geometry.model().profiles[profile].attribute == Attribute::none;
}

/// Visits the plain profiles of the set. Takes no memory: a graph asks for each of its states.
template <class Visit>
void each_fit(const Geometry& geometry, PlacementSet occupied, Visit visit) {
  const SliceMask taken = geometry.slices(occupied);
  const ComputeSlices compute = geometry.model().compute - geometry.compute(occupied);
  const MemorySlices memory = geometry.model().memory_slices - geometry.memory(occupied);
  const auto profiles = geometry.model().profiles;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (!is_plain(geometry, i)) continue;
    const Profile& profile = profiles[i];
    const int ideal =
        std::min(compute.value / profile.compute.value, memory.value / profile.memory.value);
    int valid = 0;
    for (const PlacementId id : geometry.of_profile(static_cast<int>(i)))
      if ((geometry[id].slices & taken) == 0) ++valid;
    visit(FitCount{&profile, ideal, valid});
  }
}

}  // namespace

std::vector<FitCount> fit_counts(const Geometry& geometry, PlacementSet occupied) {
  std::vector<FitCount> counts;
  each_fit(geometry, occupied, [&](const FitCount& count) { counts.push_back(count); });
  return counts;
}

FragmentationCost fragmentation_cost(const Geometry& geometry, PlacementSet occupied) {
  const auto profiles = geometry.model().profiles;
  int plain = 0;
  for (std::size_t i = 0; i < profiles.size(); ++i) plain += is_plain(geometry, i) ? 1 : 0;
  if (plain == 0) return {};
  const int share = FragmentationCost::denominator / plain;
  assert(share * plain == FragmentationCost::denominator);
  FragmentationCost cost;
  each_fit(geometry, occupied, [&](const FitCount& count) {
    if (count.ideal == 0) return;
    assert(share % count.ideal == 0);
    cost.units += share / count.ideal * (count.ideal - count.valid);
  });
  return cost;
}

}  // namespace cleave
