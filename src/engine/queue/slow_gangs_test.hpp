#pragma once
// For tests: where the places of a gang may go, by trying every choice of GPUs. Written for places
// that can all be had together.

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "placement/gang_room.hpp"

namespace cleave {

/// A place where jobs may be: whole GPUs have no placement. The order is that of Spot.
struct Place {
  unsigned gpu = 0;
  int placement = -1;
  friend auto operator<=>(const Place&, const Place&) = default;
};

/// Places by GPU, each GPU's in the order of preference.
class SlowRooms {
 public:
  using Counts = std::map<unsigned, std::size_t>;  // by GPU or node

  explicit SlowRooms(const Fleet& fleet) : fleet_(&fleet) {}
  void add(const Place& place) { places_[place.gpu].push_back(place); }

  [[nodiscard]] bool fits(const Request& asked) const {
    return every_way(asked, [](const Counts&) { return true; });
  }

  /// The node, and then the GPU, with the least room that is enough, or else most of it first.
  [[nodiscard]] std::vector<Place> choose(const Request& asked) const {
    std::map<unsigned, std::size_t> taken;
    if (asked.together == Together::gpu) {
      share(rooms(), asked.places, taken);
    } else {
      std::map<unsigned, std::size_t> nodes, taken_of_nodes;
      for (const auto& [gpu, places] : places_)
        nodes[node(gpu)] += asked.together == Together::spread ? 1 : places.size();
      share(nodes, asked.places, taken_of_nodes);
      for (const auto& [node, wanted] : taken_of_nodes) choose_on_node(asked, node, wanted, taken);
    }
    std::vector<Place> chosen;
    for (const auto& [gpu, count] : taken)
      for (std::size_t i = 0; i < count; ++i) chosen.push_back(places_.at(gpu)[i]);
    return chosen;
  }

  /// Those that cost least in all; then GPUs of low numbers have more. On a GPU the cheapest, by
  /// the first and then the second of the costs, and then the lowest.
  [[nodiscard]] std::vector<Place> cheapest(
      const Request& asked, const std::function<std::pair<int, int>(const Place&)>& cost) const {
    SlowRooms by_cost = *this;
    for (auto& [gpu, places] : by_cost.places_)
      std::ranges::sort(places, {},
                        [&](const Place& place) { return std::pair(cost(place), place); });
    std::vector<Place> best;
    int least = 0;
    every_way(asked, [&](const Counts& way) {
      std::vector<Place> chosen;
      int sum = 0;
      for (const auto& [gpu, count] : way)
        for (std::size_t i = 0; i < count; ++i) {
          chosen.push_back(by_cost.places_.at(gpu)[i]);
          sum += cost(chosen.back()).first;
        }
      if (best.empty() || sum < least) {
        best = chosen;
        least = sum;
      }
      return false;
    });
    return best;
  }

 private:
  [[nodiscard]] unsigned node(unsigned gpu) const { return fleet_->node(static_cast<GpuId>(gpu)); }
  [[nodiscard]] Counts rooms() const {
    Counts rooms;
    for (const auto& [gpu, places] : places_) rooms[gpu] = places.size();
    return rooms;
  }

  /// Every way to share the places out, those first in which GPUs of low numbers have more, until
  /// one will do. Answers whether one did.
  bool every_way(const Request& asked, const std::function<bool(const Counts&)>& will_do) const {
    Counts way;
    const Counts all = rooms();
    const auto allowed = [&](unsigned gpu) {
      if (way.empty()) return true;
      if (asked.together == Together::gpu) return false;
      return asked.together != Together::node || node(way.begin()->first) == node(gpu);
    };
    const auto go_on = [&](const auto& self, Counts::const_iterator gpu, std::size_t left) -> bool {
      if (left == 0) return will_do(way);
      if (gpu == all.end()) return false;
      const std::size_t most = asked.together == Together::spread ? 1 : gpu->second;
      for (std::size_t here = std::min(most, left); here > 0 && allowed(gpu->first); --here) {
        way[gpu->first] = here;
        const bool done = self(self, std::next(gpu), left - here);
        way.erase(gpu->first);
        if (done) return true;
      }
      return self(self, std::next(gpu), left);
    };
    return go_on(go_on, all.begin(), asked.places);
  }

  static void share(Counts rooms, std::size_t wanted, Counts& taken) {
    while (wanted > 0) {
      auto best = rooms.begin();
      for (auto each = rooms.begin(); each != rooms.end(); ++each) {
        const bool enough = each->second >= wanted, was_enough = best->second >= wanted;
        if (enough != was_enough
                ? enough
                : (enough ? each->second < best->second : each->second > best->second))
          best = each;
      }
      const std::size_t here = std::min(wanted, best->second);
      taken[best->first] = here;
      wanted -= here;
      rooms.erase(best);
    }
  }

  void choose_on_node(const Request& asked, unsigned of, std::size_t wanted, Counts& taken) const {
    Counts here = rooms();
    std::erase_if(here, [&](const auto& each) { return node(each.first) != of; });
    if (asked.together != Together::spread) return share(here, wanted, taken);
    std::set<std::pair<std::size_t, unsigned>> smallest_first;
    for (const auto& [gpu, room] : here) smallest_first.emplace(room, gpu);
    for (const auto& [room, gpu] : smallest_first)
      if (wanted > 0) {
        taken[gpu] = 1;
        --wanted;
      }
  }

  const Fleet* fleet_;
  std::map<unsigned, std::vector<Place>> places_;
};

}  // namespace cleave
