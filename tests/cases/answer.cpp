#include "answer.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace cleave::cases {

Json rational(Ratio ratio) {
  return {{"value", ratio.value()}, {"exact", ratio.exact()}};
}

Json instance(const Geometry& geometry, PlacementId id) {
  return {{"profile", geometry[id].profile->name}, {"start", geometry[id].start}};
}

Json instances(const Geometry& geometry, PlacementSet set) {
  Json list = Json::array();
  for (const PlacementId id : by_start(geometry, set)) list.push_back(instance(geometry, id));
  return list;
}

std::vector<StateId> listed(const StateGraph& graph, std::vector<StateId> states) {
  const Geometry& geometry = graph.geometry();
  const auto key = [&](StateId id) {
    std::vector<std::pair<int, std::string_view>> list;
    for (const PlacementId placement : by_start(geometry, graph.state(id)))
      list.emplace_back(geometry[placement].start, geometry[placement].profile->name);
    return std::pair(list.size(), list);
  };
  std::ranges::sort(states, {}, key);
  return states;
}

}  // namespace cleave::cases
