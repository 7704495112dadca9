#include "operations.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave::cases {

namespace {

struct DeviceRow {
  std::string_view name, model, profiles;
};

constexpr DeviceRow devices[] = {
    {"A30", "A30-24GB", "plain"},
    {"A100-40GB", "A100-40GB", "plain"},
    {"A100-40GB/five", "A100-40GB", "five"},
    {"A100-40GB/four", "A100-40GB", "four"},
    {"A100-80GB", "A100-80GB", "all"},
    {"A100-80GB/six", "A100-80GB", "plain"},
};

}  // namespace

Result<Device> find_device(const std::string& name) {
  for (const DeviceRow& row : devices) {
    if (row.name != name) continue;
    const GpuModel* model = *find_gpu_model(row.model);
    return Device{name, model, StateGraph::of(*model, ProfileChoice::parse(row.profiles)->on(*model))};
  }
  return fail(ErrorKind::bad_input, "device", fmt::format("unknown device '{}'", shown(name)));
}

Result<PlacementSet> read_state(const Geometry& geometry, const Json& list) {
  PlacementSet state;
  for (const Json& entry : list) {
    const auto id = geometry.find(entry.at("profile").get<std::string>(), entry.at("start").get<int>());
    if (!id) return std::unexpected(id.error());
    state.insert(*id);
  }
  return state;
}

Result<StateId> read_legal_state(const StateGraph& graph, const Json& list) {
  const auto state = read_state(graph.geometry(), list);
  if (!state) return std::unexpected(state.error());
  const StateId id = graph.find(*state);
  if (id == no_state) return fail(ErrorKind::bad_input, "state", "not a legal state of the device");
  return id;
}

Json placement_json(const Geometry& geometry, PlacementId id) {
  return {{"profile", geometry[id].profile->name}, {"start", geometry[id].start}};
}

Json state_json(const Geometry& geometry, PlacementSet state) {
  Json list = Json::array();
  for (const PlacementId id : by_start(geometry, state)) list.push_back(placement_json(geometry, id));
  return list;
}

Json ratio_json(Ratio ratio) {
  return {{"value", ratio.value()}, {"exact", ratio.exact()}};
}

std::vector<StateId> ordered_states(const StateGraph& graph) {
  std::vector<std::pair<std::vector<std::pair<int, std::string>>, StateId>> keyed;
  for (int i = 0; i < graph.size(); ++i) {
    const auto id = static_cast<StateId>(i);
    std::vector<std::pair<int, std::string>> key;
    for (const PlacementId placement : by_start(graph.geometry(), graph.state(id)))
      key.emplace_back(graph.geometry()[placement].start, graph.geometry()[placement].profile->name);
    keyed.emplace_back(std::move(key), id);
  }
  std::ranges::sort(keyed, {}, [](const auto& entry) { return std::pair(entry.first.size(), entry.first); });
  std::vector<StateId> states;
  for (const auto& [key, id] : keyed) states.push_back(id);
  return states;
}

}  // namespace cleave::cases
