#include "engine/queue/least_in_the_way.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace cleave {

namespace {

/// Looks at every set of spots of one GPU that can be had together.
class EverySet {
 public:
  EverySet(const Holders& holders, const StateGraph& graph, GpuId gpu)
      : holders_(holders), graph_(graph), gpu_(gpu), slices_(holders.slices_on(gpu)) {}

  WaysOnGpu look_at(const Room& room) {
    add(graph_.find(room.theirs), room.placements, 0, {});
    return std::move(ways_);
  }

 private:
  /// In the order of their numbers, so that of equal sets the first stays.
  void add(StateId state, PlacementSet spots, std::uint64_t jobs, const WaysOnGpu::Way& way) {
    while (!spots.empty()) {
      const PlacementId id = spots.first();
      spots.erase(id);
      const StateId with = graph_.add(state, id);
      if (with == no_state) continue;
      const std::uint64_t met = jobs | holders_.which_in_the_way({gpu_, id});
      WaysOnGpu::Way next{0, way.slices + graph_.geometry()[id].profile->memory.value,
                          way.placements | PlacementSet::of(id)};
      for (std::size_t job = 0; job < slices_.size(); ++job)
        if ((met >> job & 1U) != 0) next.in_the_way += slices_[job];
      consider(next);
      add(with, spots & graph_.free(with), met, next);
    }
  }

  void consider(const WaysOnGpu::Way& way) {
    const auto places = static_cast<std::size_t>(way.placements.size());
    auto& best = ways_.by_places;
    const auto rank = [](const WaysOnGpu::Way& each) {
      return std::tuple(each.in_the_way, each.slices);
    };
    if (best.size() < places) {
      best.resize(places, way);
    } else if (rank(way) < rank(best[places - 1])) {
      best[places - 1] = way;
    }
  }

  const Holders& holders_;
  const StateGraph& graph_;
  GpuId gpu_;
  std::vector<int> slices_;  // by job
  WaysOnGpu ways_;
};

constexpr std::int64_t no_way = std::numeric_limits<std::int64_t>::max() / 2;

}  // namespace

WaysOnGpu ways_on(const Holders& holders, const StateGraph& graph, GpuId gpu, const Room& room) {
  if (room.whole) {
    const std::vector<int> slices = holders.slices_on(gpu);
    const int all = std::accumulate(slices.begin(), slices.end(), 0);
    return {{{all, graph.geometry().model().memory_slices.value, {}}}};
  }
  return EverySet(holders, graph, gpu).look_at(room);
}

std::optional<PlacesByPart> distribute(const std::vector<std::vector<int>>& costs,
                                       std::uint32_t places) {
  // least[n]: the least that n places cost on the parts that were looked at, from the last on.
  std::vector<std::int64_t> least(places + 1, no_way);
  least[0] = 0;
  std::vector<std::vector<std::uint8_t>> taken(costs.size());
  for (std::size_t part = costs.size(); part-- > 0;) {
    taken[part].assign(places + 1, 0);
    for (std::size_t n = places; n > 0; --n)
      for (std::size_t here = 1; here <= std::min(n, costs[part].size()); ++here) {
        const std::int64_t cost = least[n - here] + costs[part][here - 1];
        if (cost > least[n] || cost >= no_way) continue;
        least[n] = cost;
        taken[part][n] = static_cast<std::uint8_t>(here);
      }
  }
  if (least[places] >= no_way) return std::nullopt;
  PlacesByPart all{least[places], {}};
  for (const auto& of_part : taken) {
    all.places.push_back(of_part[places]);
    places -= of_part[places];
  }
  return all;
}

std::optional<std::vector<Spot>> least_in_the_way(const Fleet& fleet, const Holders& holders,
                                                  const FleetNodes& nodes, const Request& request,
                                                  const std::function<Room(GpuId)>& room) {
  struct Choice {
    PlacesByPart distribution;
    std::vector<GpuId> gpus;
    std::vector<WaysOnGpu> ways;
  };
  std::optional<Choice> best;
  const auto consider = [&](const std::vector<GpuId>& among) {
    Choice choice;
    std::vector<std::vector<int>> costs;
    for (const GpuId gpu : among) {
      WaysOnGpu ways = ways_on(holders, fleet.graph(fleet[gpu]), gpu, room(gpu));
      if (ways.by_places.empty()) continue;
      if (request.together == Together::spread) ways.by_places.resize(1);
      std::vector<int>& cost = costs.emplace_back();
      for (const WaysOnGpu::Way& way : ways.by_places) cost.push_back(way.in_the_way);
      choice.gpus.push_back(gpu);
      choice.ways.push_back(std::move(ways));
    }
    auto distribution = distribute(costs, request.places);
    if (!distribution || (best && best->distribution.cost <= distribution->cost)) return;
    choice.distribution = std::move(*distribution);
    best = std::move(choice);
  };
  std::vector<GpuId> all;
  for (std::size_t i = 0; i < fleet.size(); ++i) all.push_back(static_cast<GpuId>(i));
  if (request.together == Together::gpu) {
    for (const GpuId gpu : all) consider({gpu});
  } else if (request.together == Together::node) {
    for (const auto& gpus : nodes.gpus) consider(gpus);
  } else {
    consider(all);
  }
  if (!best) return std::nullopt;
  std::vector<Spot> spots;
  for (std::size_t i = 0; i < best->gpus.size(); ++i) {
    const std::uint32_t places = best->distribution.places[i];
    if (places == 0) continue;
    const PlacementSet placements = best->ways[i].by_places[places - 1].placements;
    if (placements.empty()) spots.push_back({best->gpus[i], std::nullopt});
    for (const PlacementId id : placements) spots.push_back({best->gpus[i], id});
  }
  return spots;
}

}  // namespace cleave
