#include "engine/arrange.hpp"

#include <algorithm>
#include <numeric>

namespace cleave {

namespace {

/// Looks at every way to place the profiles, equal ones in ascending order, and cuts what cannot
/// get cheaper.
class Arranger {
 public:
  Arranger(const StateGraph& graph, PlacementSet idle, const std::vector<int>& profiles)
      : graph_(graph), idle_(idle), profiles_(profiles) {}

  std::optional<std::vector<PlacementId>> best(StateId occupied) {
    place(occupied, 0, 0, {});
    if (!found_) return std::nullopt;
    return best_;
  }

 private:
  void place(StateId state, std::size_t next, int cost, PlacementSet destroyed) {
    if (found_ && cost >= best_cost_) return;
    if (next == profiles_.size()) {
      found_ = true;
      best_cost_ = cost;
      best_ = chosen_;
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

  const StateGraph& graph_;
  PlacementSet idle_;
  const std::vector<int>& profiles_;  // equal ones side by side
  std::vector<PlacementId> chosen_, best_;
  int best_cost_ = 0;
  bool found_ = false;
};

}  // namespace

std::optional<std::vector<PlacementId>> arrange(const StateGraph& graph, StateId occupied,
                                                PlacementSet idle,
                                                const std::vector<int>& profiles) {
  // From large to small, as the model lists them: large ones have fewest places.
  std::vector<std::size_t> order(profiles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return profiles[i]; });
  std::vector<int> sorted;
  for (const std::size_t i : order) sorted.push_back(profiles[i]);
  const auto places = Arranger(graph, idle, sorted).best(occupied);
  if (!places) return std::nullopt;
  std::vector<PlacementId> answer(profiles.size());
  for (std::size_t i = 0; i < order.size(); ++i) answer[order[i]] = (*places)[i];
  return answer;
}

}  // namespace cleave
