#include "kube/kube_counters.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "kube/kube_devices.hpp"

namespace cleave {

namespace {

constexpr const char *compute_counter = "compute", *media_counter = "media",
                     *engines_counter = "media-engines";

std::string slice_counter(int slice) {
  return fmt::format("memory-{}", slice);
}
std::string limit_counter(const Profile& profile) {
  return fmt::format("at-most-{}", profile_label(profile.name));
}

bool has_attribute(const Geometry& geometry, Attribute attribute) {
  return std::ranges::any_of(geometry.profile_list(), [&](const Profile* profile) {
    return profile->attribute == attribute;
  });
}

/// The most placements out of `left` that share no slice with one another or with `covered`.
int most_disjoint(const Geometry& geometry, PlacementSet left, SliceMask covered) {
  int most = 0;
  for (const PlacementId placement : left) {
    left.erase(placement);
    const SliceMask slices = geometry[placement].slices;
    if ((covered & slices) != 0) continue;
    const auto with = static_cast<SliceMask>(covered | slices);
    most = std::max(most, 1 + most_disjoint(geometry, left, with));
  }
  return most;
}

/// Whether slices leave room for more of the profile than the model allows.
bool needs_limit(const Geometry& geometry, const Profile& profile) {
  const auto index = static_cast<int>(&profile - geometry.model().profiles.data());
  const int by_memory = most_disjoint(geometry, geometry.of_profile(index), 0);
  const int by_compute = geometry.model().compute.value / std::max(1, profile.compute.value);
  return std::min(by_memory, by_compute) > profile.max_instances;
}

}  // namespace

KubeCounters counters_of(const Geometry& geometry) {
  const GpuModel& model = geometry.model();
  KubeCounters counters;
  for (int slice = 0; slice < model.memory_slices.value; ++slice)
    counters.emplace_back(slice_counter(slice), 1);
  counters.emplace_back(compute_counter, model.compute.value);
  if (has_attribute(geometry, Attribute::media)) counters.emplace_back(media_counter, 1);
  // No more instances than memory slices stand at a time.
  if (has_attribute(geometry, Attribute::all_media))
    counters.emplace_back(engines_counter, model.memory_slices.value);
  for (const Profile* profile : geometry.profile_list())
    if (needs_limit(geometry, *profile))
      counters.emplace_back(limit_counter(*profile), profile->max_instances);
  return counters;
}

KubeCounters consumed_by(const Geometry& geometry, PlacementId placement) {
  const Placement& at = geometry[placement];
  const Profile& profile = *at.profile;
  KubeCounters counters;
  for (int slice = at.start; slice < at.start + profile.memory.value; ++slice)
    counters.emplace_back(slice_counter(slice), 1);
  counters.emplace_back(compute_counter, profile.compute.value);
  if (profile.attribute == Attribute::media) counters.emplace_back(media_counter, 1);
  if (has_attribute(geometry, Attribute::all_media) && profile.attribute != Attribute::no_media)
    counters.emplace_back(engines_counter, profile.attribute == Attribute::all_media
                                               ? geometry.model().memory_slices.value
                                               : 1);
  if (needs_limit(geometry, profile)) counters.emplace_back(limit_counter(profile), 1);
  return counters;
}

}  // namespace cleave
