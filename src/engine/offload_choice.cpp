#include "engine/offload_choice.hpp"

namespace cleave {

bool worth_offloading(const JobFacts* facts, const Fleet& fleet, const ResolvedRequest& asked,
                      JobId job, std::size_t kind, PlacementId placement) {
  const Geometry& geometry = fleet.graphs()[kind]->geometry();
  const PlacementSet whole = asked.candidates[kind];
  if (whole.meets(asked.with_offload[kind])) return true;  // it is all that the model has
  if (facts == nullptr) return false;
  const Placement& small = geometry[placement];
  const auto time = facts->time_on(job, kind, small.profile_index);
  if (!time) return false;
  for (const PlacementId id : whole) {
    const Placement& large = geometry[id];
    const auto other = facts->time_on(job, kind, large.profile_index);
    if (!other) continue;
    const double share =
        static_cast<double>(small.profile->memory.value) / large.profile->memory.value;
    if (in_seconds(*time) * share > in_seconds(*other)) return false;
  }
  return true;
}

}  // namespace cleave
