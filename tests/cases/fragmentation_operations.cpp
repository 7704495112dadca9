// Fragmentation cost of one GPU (*An Online Fragmentation-Aware Scheduler*, equations 3 to 5), and the start
// that the policy chooses on it.

#include "operations.hpp"
#include "placement/policy.hpp"

namespace cleave::cases {

namespace {

Result<Json> cost(const Json& input) {
  const auto device = find_device(input.at("device"));
  if (!device) return std::unexpected(device.error());
  const auto state = read_legal_state(*device->graph, input.at("state"));
  if (!state) return std::unexpected(state.error());
  Json profiles = Json::array();
  for (const FitCount& count : fit_counts(device->geometry(), device->graph->state(*state)))
    profiles.push_back({{"profile", count.profile->name}, {"ideal", count.ideal}, {"valid", count.valid}});
  return Json{{"cost", ratio_json(device->graph->cost(*state).ratio())}, {"profiles", profiles}};
}

/// The GPU as a fleet of one, so that the product's own policy decides.
FleetFile fleet_of_one(const Device& device, PlacementSet held, PlacementSet idle) {
  FleetFile file;
  file.geometries.push_back(device.geometry());
  GpuEntry gpu{"gpu", 0, {}};
  for (const PlacementId id : held | idle) {
    InstanceEntry instance;
    instance.placement = id;
    if (held.contains(id)) instance.workload = "held";
    gpu.instances.push_back(instance);
  }
  file.gpus.push_back(std::move(gpu));
  return file;
}

Result<Json> choose(const Json& input) {
  const auto device = find_device(input.at("device"));
  if (!device) return std::unexpected(device.error());
  const StateGraph& graph = *device->graph;
  const auto state = read_legal_state(graph, input.at("state"));
  if (!state) return std::unexpected(state.error());
  const auto idle = read_state(graph.geometry(), input.value("idle", Json::array()));
  if (!idle) return std::unexpected(idle.error());
  const FleetFile file = fleet_of_one(*device, graph.state(*state), *idle);
  const ResolvedRequest request =
      resolve({ByProfile{input.at("profile").get<std::string>()}, {}}, file.geometries);
  const auto json = [&](PlacementId id) {
    return Json{{"start", graph.geometry()[id].start},
                {"cost", ratio_json(graph.cost(graph.add(*state, id)).ratio())},
                {"reuse", idle->contains(id)}};
  };
  Json candidates = Json::array();
  for (const PlacementId id : by_start(graph.geometry(), request.candidates.front() & graph.free(*state)))
    candidates.push_back(json(id));
  const auto decision = decide_by_scan(Fleet(file), request, *choose_policy("fragmentation", {}));
  return Json{{"candidates", candidates}, {"choice", decision ? json(decision->placement) : Json(nullptr)}};
}

constexpr Operation table_of_operations[] = {
    {"fragmentation", "cost", cost},
    {"fragmentation", "choose", choose},
};

}  // namespace

std::span<const Operation> fragmentation_operations() {
  return table_of_operations;
}

}  // namespace cleave::cases
