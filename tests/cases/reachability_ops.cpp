// Operations of module `reachability`: how many full states can still be reached from a state, and
// the placement that keeps the most. Idle instances only break ties.

#include <algorithm>
#include <tuple>
#include <vector>

#include "answer.hpp"
#include "input.hpp"
#include "operations.hpp"

namespace cleave::cases::reachability {

namespace {

Json candidate(const OneGpu& gpu, PlacementId id) {
  Json shown = instance(gpu.geometry(), id);
  shown["fcr"] = gpu.graph->reachability(gpu.graph->add(gpu.id(), id));
  shown["reuse"] = gpu.idle.contains(id);
  return shown;
}

/// The candidates that can be placed, and the one that keeps the most full states reachable; ties:
/// reuse, most compute slices, lowest start.
Json best_of(const OneGpu& gpu, PlacementSet candidates) {
  const std::vector<PlacementId> ids =
      by_start(gpu.geometry(), candidates & gpu.graph->free(gpu.id()));
  Json list = Json::array();
  for (const PlacementId id : ids) list.push_back(candidate(gpu, id));
  const auto rank = [&](PlacementId id) {
    const Placement& where = gpu.geometry()[id];
    return std::tuple(-gpu.graph->reachability(gpu.graph->add(gpu.id(), id)),
                      !gpu.idle.contains(id), -where.profile->compute.value, where.start);
  };
  const auto best = std::ranges::min_element(ids, {}, rank);
  return {{"candidates", list}, {"choice", best == ids.end() ? Json() : candidate(gpu, *best)}};
}

PlacementSet placements_of(const Geometry& geometry, const Profile& profile) {
  return geometry.of_profile(static_cast<int>(&profile - geometry.model().profiles.data()));
}

}  // namespace

Json fcr(JsonReader& in) {
  const auto gpu = read_gpu(in);
  if (!gpu) return {};
  return {{"placements", gpu->graph->reachability(gpu->id())}};
}

Json all(JsonReader& in) {
  const auto graph = read_device(in);
  if (!graph) return {};
  std::vector<StateId> ids;
  for (int i = 0; i < graph->size(); ++i) ids.push_back(static_cast<StateId>(i));
  Json list = Json::array();
  for (const StateId id : listed(*graph, std::move(ids)))
    list.push_back({{"state", instances(graph->geometry(), graph->state(id))},
                    {"placements", graph->reachability(id)}});
  return {{"device", in.text("device")}, {"fcr", list}};
}

Json choose(JsonReader& in) {
  const auto gpu = read_gpu(in);
  if (!gpu) return {};
  const Profile* profile = read_profile(in, gpu->geometry());
  if (profile == nullptr) return {};
  return best_of(*gpu, placements_of(gpu->geometry(), *profile));
}

Json choose_size(JsonReader& in) {
  const auto gpu = read_gpu(in);
  if (!gpu) return {};
  const auto size = in.number_if("memory_gb");
  if (!size) {
    in.refuse("", "the key 'memory_gb' is missing");
    return {};
  }
  PlacementSet candidates;
  for (const Profile* profile : gpu->geometry().profile_list())
    if (profile->attribute == Attribute::none && profile->name_gb() == *size)
      candidates = candidates | placements_of(gpu->geometry(), *profile);
  return best_of(*gpu, candidates);
}

}  // namespace cleave::cases::reachability
