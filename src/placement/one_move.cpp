#include "placement/one_move.hpp"

namespace cleave {

namespace {

/// Where an instance could go while it still runs: a free placement of its profile on `gpu`, whose occupied
/// state is `occupied`; the lowest start. On its own GPU the request must still fit afterwards.
std::optional<PlacementId> target_on(const StateGraph& graph, StateId occupied, int profile_index) {
  const PlacementSet free = graph.free(occupied) & graph.geometry().of_profile(profile_index);
  if (free.empty()) return std::nullopt;
  return free.first();
}

class Finder {
 public:
  Finder(const Fleet& fleet, const ResolvedRequest& request,
         const std::function<bool(GpuId, PlacementId)>& movable)
      : fleet_(fleet), request_(request), movable_(movable) {}

  std::optional<OneMove> run() {
    for (std::size_t i = 0; i < fleet_.size(); ++i) look_at(static_cast<GpuId>(i));
    return best_;
  }

 private:
  void look_at(GpuId gpu) {
    const GpuState& state = fleet_[gpu];
    if (state.absent || request_.candidates[state.kind].empty()) return;
    const StateGraph& graph = fleet_.graph(state);
    for (const PlacementId from : state.held) {
      const int memory = graph.geometry()[from].profile->memory.value;
      if ((best_ && memory >= best_memory_) || !movable_(gpu, from)) continue;
      const StateId without = graph.remove(state.occupied, from);
      const PlacementSet room = request_.candidates[state.kind] & graph.free(without);
      if (room.empty()) continue;
      if (move_within(gpu, state, graph, from, without) ||
          move_elsewhere(gpu, state, graph, from, room.first()))
        best_memory_ = memory;
    }
  }

  bool move_within(GpuId gpu, const GpuState& state, const StateGraph& graph, PlacementId from,
                   StateId without) {
    const Placement& what = graph.geometry()[from];
    for (const PlacementId to :
         graph.free(state.occupied) & graph.geometry().of_profile(what.profile_index)) {
      const PlacementSet room = request_.candidates[state.kind] & graph.free(graph.add(without, to));
      if (room.empty()) continue;
      best_ = OneMove{gpu, room.first(), from, gpu, to};
      return true;
    }
    return false;
  }

  bool move_elsewhere(GpuId gpu, const GpuState& state, const StateGraph& graph, PlacementId from,
                      PlacementId placed) {
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      const auto other = static_cast<GpuId>(i);
      const GpuState& there = fleet_[other];
      if (other == gpu || there.kind != state.kind || there.absent) continue;
      const auto to = target_on(graph, there.occupied, graph.geometry()[from].profile_index);
      if (!to) continue;
      best_ = OneMove{gpu, placed, from, other, *to};
      return true;
    }
    return false;
  }

  const Fleet& fleet_;
  const ResolvedRequest& request_;
  const std::function<bool(GpuId, PlacementId)>& movable_;
  std::optional<OneMove> best_;
  int best_memory_ = 0;
};

}  // namespace

std::optional<OneMove> one_move(const Fleet& fleet, const ResolvedRequest& request,
                                const std::function<bool(GpuId, PlacementId)>& movable) {
  return Finder(fleet, request, movable).run();
}

}  // namespace cleave
