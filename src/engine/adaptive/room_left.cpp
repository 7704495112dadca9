#include "engine/adaptive/room_left.hpp"

namespace cleave {

double slices_of(const Profile& profile) {
  return (profile.compute.value + profile.memory.value) / 2.0;
}

double area_of(const Geometry& geometry, PlacementId place) {
  const GpuModel& model = geometry.model();
  const Profile& profile = *geometry[place].profile;
  return (static_cast<double>(profile.compute.value) / static_cast<double>(model.compute.value) +
          static_cast<double>(profile.memory.value) /
              static_cast<double>(model.memory_slices.value)) /
         2;
}

RoomLeft::RoomLeft(std::shared_ptr<const StateGraph> graph)
    : graph_(std::move(graph)), known_(static_cast<std::size_t>(graph_->size()), -1) {}

double RoomLeft::in(StateId state) {
  double& known = known_[state];
  if (known >= 0) return known;
  const Geometry& geometry = graph_->geometry();
  known = 0;
  for (std::size_t i = 0; i < geometry.model().profiles.size(); ++i) {
    const PlacementSet places = geometry.of_profile(static_cast<int>(i));
    if (places.empty()) continue;
    StateId with = state;
    int fit = 0;
    for (const PlacementId place : by_start(geometry, places)) {
      const StateId next = graph_->add(with, place);
      if (next == no_state) continue;
      with = next;
      ++fit;
    }
    const double area = area_of(geometry, places.first());
    known += fit * area * (1 + 0.1 * area * geometry.model().compute.value);
  }
  return known;
}

}  // namespace cleave
