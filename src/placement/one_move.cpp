#include "placement/one_move.hpp"

#include <map>
#include <tuple>
#include <vector>

namespace cleave {

namespace {

/// Memory, GPU, the same GPU or another, target: smaller is better.
using Cost = std::tuple<int, std::size_t, int, std::size_t, PlacementId>;

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
  struct Target {
    GpuId gpu;
    PlacementId placement;
  };

  void look_at(GpuId gpu) {
    const GpuState& state = fleet_[gpu];
    if (state.absent || request_.candidates[state.kind].empty()) return;
    const StateGraph& graph = fleet_.graph(state);
    for (const PlacementId from : state.held) {
      const Placement& what = graph.geometry()[from];
      if ((best_ && what.profile->memory.value > std::get<0>(cost_)) || !movable_(gpu, from))
        continue;
      const StateId without = graph.remove(state.occupied, from);
      const PlacementSet room = request_.candidates[state.kind] & graph.free(without);
      if (room.empty()) continue;
      for (const PlacementId to :
           graph.free(state.occupied) & graph.geometry().of_profile(what.profile_index)) {
        const PlacementSet then =
            request_.candidates[state.kind] & graph.free(graph.add(without, to));
        if (!then.empty())
          offer({what.profile->memory.value, index(gpu), 0, index(gpu), to},
                {gpu, then.first(), from, gpu, to});
      }
      if (const auto other = elsewhere(state.kind, what.profile_index, gpu))
        offer({what.profile->memory.value, index(gpu), 1, index(other->gpu), other->placement},
              {gpu, room.first(), from, other->gpu, other->placement});
    }
  }

  void offer(const Cost& cost, const OneMove& move) {
    if (best_ && cost >= cost_) return;
    best_ = move;
    cost_ = cost;
  }

  /// The lowest GPU but one with a free placement of the profile; the two lowest are looked up
  /// once.
  std::optional<Target> elsewhere(std::uint16_t kind, int profile_index, GpuId but) {
    const auto [entry, fresh] = targets_.try_emplace({kind, profile_index});
    std::vector<Target>& targets = entry->second;
    for (std::size_t i = 0; fresh && i < fleet_.size() && targets.size() < 2; ++i) {
      const GpuState& state = fleet_[static_cast<GpuId>(i)];
      if (state.kind != kind || state.absent) continue;
      const StateGraph& graph = fleet_.graph(state);
      const PlacementSet free =
          graph.free(state.occupied) & graph.geometry().of_profile(profile_index);
      if (!free.empty()) targets.push_back({static_cast<GpuId>(i), free.first()});
    }
    for (const Target& target : targets)
      if (target.gpu != but) return target;
    return std::nullopt;
  }

  const Fleet& fleet_;
  const ResolvedRequest& request_;
  const std::function<bool(GpuId, PlacementId)>& movable_;
  std::map<std::pair<std::uint16_t, int>, std::vector<Target>> targets_;
  std::optional<OneMove> best_;
  Cost cost_{};
};

}  // namespace

std::optional<OneMove> one_move(const Fleet& fleet, const ResolvedRequest& request,
                                const std::function<bool(GpuId, PlacementId)>& movable) {
  return Finder(fleet, request, movable).run();
}

}  // namespace cleave
