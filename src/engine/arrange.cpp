#include "engine/arrange.hpp"

#include <algorithm>
#include <numeric>

namespace cleave {

namespace {

/// Looks at every way to place the profiles, equal ones in ascending order, and cuts what cannot
/// get cheaper.
class Arranger {
 public:
  Arranger(const StateGraph& graph, PlacementSet idle, const std::vector<int>& profiles,
           const InstanceEnds* ends)
      : graph_(graph), idle_(idle), profiles_(profiles), ends_(ends) {}

  std::optional<std::vector<PlacementId>> best(StateId occupied) {
    occupied_ = graph_.state(occupied);
    place(occupied, 0, 0, {});
    if (!found_) return std::nullopt;
    return best_;
  }

 private:
  void place(StateId state, std::size_t next, int cost, PlacementSet destroyed) {
    if (found_ && (ends_ == nullptr ? cost >= best_cost_ : cost > best_cost_)) return;
    if (next == profiles_.size()) {
      keep(cost);
      return;
    }
    const bool twin = next > 0 && profiles_[next] == profiles_[next - 1];
    for (const PlacementId p : graph_.geometry().of_profile(profiles_[next]) & graph_.free(state)) {
      if (twin && p < chosen_.back()) continue;
      const PlacementSet goes = (idle_ & graph_.geometry()[p].conflicts) - destroyed;
      const int step = goes.size() + (idle_.contains(p) ? 0 : 1);
      chosen_.push_back(p);
      place(graph_.add(state, p), next + 1, cost + step, destroyed | goes);
      chosen_.pop_back();
    }
  }

  void keep(int cost) {
    const double room = ends_ == nullptr ? 0 : room_again();
    if (found_ && cost == best_cost_ && room >= best_room_) return;
    found_ = true;
    best_cost_ = cost;
    best_room_ = room;
    best_ = chosen_;
  }

  /// The sum over all placements of slices times the moment when the last in its way ends.
  [[nodiscard]] double room_again() const {
    const Geometry& geometry = graph_.geometry();
    double sum = 0;
    for (const PlacementId p : geometry.all()) {
      double last = 0;
      const auto hear = [&](PlacementId other, double end) {
        if (other == p || geometry[p].conflicts.contains(other)) last = std::max(last, end);
      };
      for (const PlacementId held : occupied_) hear(held, ends_->held[held]);
      for (std::size_t i = 0; i < chosen_.size(); ++i) hear(chosen_[i], ends_->wanted[i]);
      sum += last * geometry[p].profile->compute.value;
    }
    return sum;
  }

  const StateGraph& graph_;
  PlacementSet idle_, occupied_;
  const std::vector<int>& profiles_;  // equal ones side by side
  const InstanceEnds* ends_;          // in the order of profiles_
  std::vector<PlacementId> chosen_, best_;
  int best_cost_ = 0;
  double best_room_ = 0;
  bool found_ = false;
};

}  // namespace

std::optional<std::vector<PlacementId>> arrange(const StateGraph& graph, StateId occupied,
                                                PlacementSet idle, const std::vector<int>& profiles,
                                                const InstanceEnds* ends) {
  // From large to small, as the model lists them: large ones have fewest places.
  std::vector<std::size_t> order(profiles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::pair(profiles[i], ends == nullptr ? 0.0 : ends->wanted[i]);
  });
  std::vector<int> sorted;
  InstanceEnds sorted_ends;
  for (const std::size_t i : order) sorted.push_back(profiles[i]);
  if (ends != nullptr) {
    sorted_ends.held = ends->held;
    for (const std::size_t i : order) sorted_ends.wanted.push_back(ends->wanted[i]);
  }
  const auto places =
      Arranger(graph, idle, sorted, ends == nullptr ? nullptr : &sorted_ends).best(occupied);
  if (!places) return std::nullopt;
  std::vector<PlacementId> answer(profiles.size());
  for (std::size_t i = 0; i < order.size(); ++i) answer[order[i]] = (*places)[i];
  return answer;
}

}  // namespace cleave
