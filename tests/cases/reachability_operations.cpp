// Future configuration reachability (*Managing Multi Instance GPUs*, 4.2).

#include <algorithm>

#include "operations.hpp"

namespace cleave::cases {

namespace {

Result<Json> fcr(const Json& input) {
  const auto device = find_device(input.at("device"));
  if (!device) return std::unexpected(device.error());
  const auto state = read_legal_state(*device->graph, input.at("state"));
  if (!state) return std::unexpected(state.error());
  return Json{{"placements", device->graph->reachability(*state)}};
}

Result<Json> all(const Json& input) {
  const auto device = find_device(input.at("device"));
  if (!device) return std::unexpected(device.error());
  const StateGraph& graph = *device->graph;
  Json list = Json::array();
  for (const StateId id : ordered_states(graph))
    list.push_back(
        {{"state", state_json(graph.geometry(), graph.state(id))}, {"placements", graph.reachability(id)}});
  return Json{{"device", device->name}, {"fcr", list}};
}

struct Candidate {
  PlacementId id;
  int reached;
  bool reuse;
};

/// Candidates by start, then profile; the choice by reachability, reuse, compute slices, start.
Result<Json> choose_among(const Device& device, const Json& input, PlacementSet wanted) {
  const StateGraph& graph = *device.graph;
  const Geometry& geometry = graph.geometry();
  const auto state = read_legal_state(graph, input.at("state"));
  if (!state) return std::unexpected(state.error());
  const auto idle = read_state(geometry, input.value("idle", Json::array()));
  if (!idle) return std::unexpected(idle.error());
  std::vector<Candidate> candidates;
  for (const PlacementId id : by_start(geometry, wanted & graph.free(*state)))
    candidates.push_back({id, graph.reachability(graph.add(*state, id)), idle->contains(id)});
  const auto json = [&](const Candidate& candidate) {
    Json entry = placement_json(geometry, candidate.id);
    entry["fcr"] = candidate.reached;
    entry["reuse"] = candidate.reuse;
    return entry;
  };
  Json list = Json::array();
  for (const Candidate& candidate : candidates) list.push_back(json(candidate));
  const auto best = std::ranges::max_element(candidates, {}, [&](const Candidate& c) {
    return std::tuple(c.reached, c.reuse, geometry[c.id].profile->compute.value, -geometry[c.id].start);
  });
  return Json{{"candidates", list}, {"choice", best == candidates.end() ? Json(nullptr) : json(*best)}};
}

Result<Json> choose(const Json& input) {
  const auto device = find_device(input.at("device"));
  if (!device) return std::unexpected(device.error());
  const Profile* profile = device->model->find(input.at("profile").get<std::string>());
  if (profile == nullptr) return fail(ErrorKind::bad_input, "profile", "unknown profile");
  return choose_among(
      *device, input,
      device->geometry().of_profile(static_cast<int>(profile - device->model->profiles.data())));
}

/// By the GB in the profile's name, profiles without attribute only.
Result<Json> choose_size(const Json& input) {
  const auto device = find_device(input.at("device"));
  if (!device) return std::unexpected(device.error());
  PlacementSet wanted;
  for (const PlacementId id : device->geometry().all()) {
    const Profile& profile = *device->geometry()[id].profile;
    if (profile.attribute == Attribute::none && profile.name_gb() == input.at("memory_gb")) wanted.insert(id);
  }
  return choose_among(*device, input, wanted);
}

constexpr Operation table_of_operations[] = {
    {"reachability", "fcr", fcr},
    {"reachability", "all", all},
    {"reachability", "choose", choose},
    {"reachability", "choose_size", choose_size},
};

}  // namespace

std::span<const Operation> reachability_operations() {
  return table_of_operations;
}

}  // namespace cleave::cases
