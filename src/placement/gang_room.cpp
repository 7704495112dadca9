#include "placement/gang_room.hpp"

#include <algorithm>
#include <cassert>
#include <span>
#include <tuple>

namespace cleave {

namespace {

/// The most of `spots` that can be added to the state.
int deepest(const StateGraph& graph, StateId state, PlacementSet spots) {
  int most = 0;
  while (!spots.empty()) {
    const PlacementId next = spots.first();
    spots.erase(next);
    const StateId with = graph.add(state, next);
    if (with == no_state) continue;
    most = std::max(most, 1 + deepest(graph, with, spots - graph.geometry()[next].conflicts));
  }
  return most;
}

/// A node or GPU by its number, and its room or the part of it that is taken.
struct Bin {
  std::uint32_t number = 0, room = 0;
};

/// Into the least that is enough, or else first into the largest; among equals the lowest.
std::vector<Bin> fill(std::vector<Bin> bins, std::uint32_t wanted) {
  const auto smaller = [](const Bin& a, const Bin& b) {
    return std::tuple(a.room, b.number) < std::tuple(b.room, a.number);
  };
  std::vector<Bin> taken;
  std::ranges::make_heap(bins, smaller);
  while (bins.front().room < wanted) {
    std::ranges::pop_heap(bins, smaller);
    taken.push_back(bins.back());
    wanted -= bins.back().room;
    bins.pop_back();
  }
  const auto rank = [&](const Bin& bin) {
    return std::tuple(bin.room < wanted, bin.room, bin.number);
  };
  taken.push_back({std::ranges::min(bins, {}, rank).number, wanted});
  return taken;
}

/// One into each of so many, the smallest first.
std::vector<Bin> one_each(std::vector<Bin> bins, std::uint32_t wanted) {
  std::ranges::stable_sort(bins, {}, &Bin::room);
  bins.resize(wanted);
  for (Bin& bin : bins) bin.room = 1;
  return bins;
}

}  // namespace

FleetNodes::FleetNodes(const Fleet& fleet) {
  node_of.reserve(fleet.size());
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const std::uint32_t node = fleet.node(gpu);
    node_of.push_back(node);
    if (gpus.size() <= node) gpus.resize(node + 1);
    gpus[node].push_back(gpu);
  }
}

int SideBySide::most(std::size_t kind, PlacementSet spots, PlacementSet occupied) {
  const StateGraph& graph = *(*graphs_)[kind];
  // Where rules are between two placements alone, what is there makes no difference to free ones.
  if (graph.pairwise()) occupied = {};
  const std::uint64_t key = std::uint64_t{occupied.bits()} << 32 | spots.bits();
  const auto [known, fresh] = known_[kind].try_emplace(key, 0);
  if (fresh) known->second = deepest(graph, graph.find(occupied), spots);
  return known->second;
}

PlacementSet SideBySide::leaving(std::size_t kind, PlacementSet spots, PlacementSet occupied,
                                 int more) {
  const StateGraph& graph = *(*graphs_)[kind];
  if (graph.pairwise()) occupied = {};
  const StateId state = graph.find(occupied);
  PlacementSet leaving;
  for (const PlacementId id : spots) {
    const StateId with = graph.add(state, id);
    if (with != no_state && most(kind, spots & graph.free(with), graph.state(with)) >= more)
      leaving.insert(id);
  }
  return leaving;
}

void GangRoom::Largest::replace(std::uint32_t before, std::uint32_t after) {
  if (before > 0) --count_[before];
  if (after > 0) {
    if (count_.size() <= after) count_.resize(after + 1);
    ++count_[after];
  }
  most_ = std::max(most_, after);
  while (most_ > 0 && count_[most_] == 0) --most_;
}

GangRoom::GangRoom(const FleetNodes& nodes)
    : nodes_(&nodes),
      room_(nodes.node_of.size()),
      of_node_(nodes.gpus.size()),
      gpus_with_room_(nodes.gpus.size()) {}

void GangRoom::set(GpuId gpu, int places) {
  const std::uint32_t before = room_[index(gpu)], after = static_cast<std::uint32_t>(places);
  if (before == after) return;
  const std::uint32_t node = nodes_->node_of[index(gpu)];
  room_[index(gpu)] = static_cast<std::uint8_t>(after);
  largest_gpu_.replace(before, after);
  largest_node_.replace(of_node_[node], of_node_[node] + after - before);
  of_node_[node] += after - before;
  total_ += after;
  total_ -= before;
  if (before == 0) {
    ++gpus_;
    ++gpus_with_room_[node];
  }
  if (after == 0) {
    --gpus_;
    --gpus_with_room_[node];
  }
}

bool GangRoom::fits(std::uint32_t places, Together together) const {
  switch (together) {
    case Together::anywhere:
      return total_ >= places;
    case Together::gpu:
      return largest_gpu_.value() >= places;
    case Together::node:
      return largest_node_.value() >= places;
    case Together::spread:
      return gpus_ >= places;
  }
  return false;
}

std::vector<GangRoom::Share> GangRoom::choose(std::uint32_t places, Together together) const {
  assert(fits(places, together));
  const auto numbered = [](std::span<const std::uint32_t> rooms, std::uint32_t least) {
    std::vector<Bin> bins;
    for (std::size_t i = 0; i < rooms.size(); ++i)
      if (rooms[i] >= least) bins.push_back({static_cast<std::uint32_t>(i), rooms[i]});
    return bins;
  };
  const auto gpus_of = [&](std::span<const GpuId> gpus, std::uint32_t least) {
    std::vector<Bin> bins;
    for (const GpuId gpu : gpus)
      if (const std::uint32_t room = room_[index(gpu)]; room >= least)
        bins.push_back({static_cast<std::uint32_t>(index(gpu)), room});
    return bins;
  };
  std::vector<Share> shares;
  const auto take = [&](const std::vector<Bin>& taken) {
    for (const Bin& bin : taken) shares.push_back({static_cast<GpuId>(bin.number), bin.room});
  };
  const bool spread = together == Together::spread;
  const std::uint32_t least_of_gpu = together == Together::gpu ? places : 1;
  if (together == Together::gpu) {
    std::vector<Bin> bins;
    for (const auto& gpus : nodes_->gpus)
      for (const Bin& bin : gpus_of(gpus, least_of_gpu)) bins.push_back(bin);
    take(fill(std::move(bins), places));
  } else {
    const std::uint32_t least = together == Together::node ? places : 1;
    for (const Bin& node : fill(numbered(spread ? gpus_with_room_ : of_node_, least), places)) {
      std::vector<Bin> gpus = gpus_of(nodes_->gpus[node.number], least_of_gpu);
      take(spread ? one_each(std::move(gpus), node.room) : fill(std::move(gpus), node.room));
    }
  }
  std::ranges::sort(shares, {}, &Share::gpu);
  return shares;
}

}  // namespace cleave
