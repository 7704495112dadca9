#include "engine/queue/earliest_spots.hpp"

#include <algorithm>
#include <bit>
#include <queue>

namespace cleave {

namespace {

/// Spots that are free, or would be if no job took longer than was expected, are all as good. So a
/// time that has passed is kept as this.
constexpr Instant passed = Instant::min();

}  // namespace

std::optional<SpotRank> EarliestSpots::best_on(const Holders& holders, GpuId gpu, const Room& room,
                                               Instant now) {
  std::optional<SpotRank> best;
  const auto look_at = [&](Spot spot, int slices) {
    const Instant from = holders.free_from(spot, now);
    const SpotRank rank{from, from == never ? holders.in_the_way(spot) : 0, slices, spot};
    if (!best || rank < *best) best = rank;
  };
  const Geometry& geometry = holders.geometry(gpu);
  if (room.whole) look_at({gpu, std::nullopt}, geometry.model().memory_slices.value);
  for (const PlacementId placement : room.placements)
    look_at({gpu, placement}, geometry[placement].profile->memory.value);
  return best;
}

void EarliestSpots::changed(GpuId gpu) {
  if (by_request_.empty()) return;
  log_.push_back(gpu);
  if (log_.size() < 2 * holders_->gpus() + 64) return;
  // To make them anew takes no longer than to catch up.
  by_request_.clear();
  log_.clear();
}

bool EarliestSpots::better(const Tournament& of, std::uint32_t a, std::uint32_t b) {
  if (a == no_gpu || b == no_gpu) return b == no_gpu && a != no_gpu;
  return *of.entries[a].best < *of.entries[b].best;
}

void EarliestSpots::replay(Tournament& of, std::size_t node) const {
  const std::uint32_t a = of.winner[2 * node], b = of.winner[2 * node + 1];
  of.winner[node] = better(of, b, a) ? b : a;
  of.changes[node] = std::min(of.changes[2 * node], of.changes[2 * node + 1]);
}

void EarliestSpots::look_at(Tournament& of, std::size_t gpu, RequestId request, Instant now,
                            const RoomOf& room) const {
  const auto id = static_cast<GpuId>(gpu);
  Entry& entry = of.entries[gpu];
  entry.best = best_on(*holders_, id, room(id, request), now);
  if (entry.best && entry.best->from <= now) entry.best->from = passed;
  entry.changes = holders_->next_change(id, now);
  of.winner[of.leaves + gpu] = entry.best ? static_cast<std::uint32_t>(gpu) : no_gpu;
  of.changes[of.leaves + gpu] = entry.changes;
}

void EarliestSpots::make(Tournament& of, RequestId request, Instant now, const RoomOf& room) const {
  const std::size_t gpus = holders_->gpus();
  of.leaves = std::bit_ceil(std::max<std::size_t>(gpus, 1));
  of.entries.resize(gpus);
  of.winner.assign(2 * of.leaves, no_gpu);
  of.changes.assign(2 * of.leaves, never);
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) look_at(of, gpu, request, now, room);
  for (std::size_t node = of.leaves; --node > 0;) replay(of, node);
  of.told = log_.size();
}

void EarliestSpots::catch_up(Tournament& of, RequestId request, Instant now,
                             const RoomOf& room) const {
  const auto again = [&](std::size_t gpu) {
    look_at(of, gpu, request, now, room);
    for (std::size_t node = (of.leaves + gpu) / 2; node > 0; node /= 2) replay(of, node);
  };
  for (; of.told < log_.size(); ++of.told) again(index(log_[of.told]));
  while (of.changes[1] <= now) {
    std::size_t node = 1;
    while (node < of.leaves) node = of.changes[2 * node] <= now ? 2 * node : 2 * node + 1;
    again(node - of.leaves);
  }
}

std::optional<SpotRank> EarliestSpots::best(RequestId request, Instant now, const RoomOf& room,
                                            const std::function<bool(GpuId)>& left_out) {
  if (by_request_.size() <= index(request)) by_request_.resize(index(request) + 1);
  auto& known = by_request_[index(request)];
  if (!known) {
    known = std::make_unique<Tournament>();
    make(*known, request, now, room);
  } else {
    catch_up(*known, request, now, room);
  }
  const Tournament& of = *known;
  // The best first, until one is not left out.
  const auto later = [&](std::size_t a, std::size_t b) {
    return better(of, of.winner[b], of.winner[a]);
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> open(later);
  open.push(1);
  while (!open.empty()) {
    const std::size_t node = open.top();
    open.pop();
    const std::uint32_t winner = of.winner[node];
    if (winner == no_gpu) return std::nullopt;
    if (!left_out(static_cast<GpuId>(winner))) {
      SpotRank rank = *of.entries[winner].best;
      rank.from = std::max(rank.from, now);
      return rank;
    }
    // Down to its own leaf: the best of the others is among those that it beat on the way.
    for (std::size_t at = node; at < of.leaves;) {
      const std::size_t left = 2 * at, right = left + 1;
      const bool from_left = of.winner[left] == winner;
      open.push(from_left ? right : left);
      at = from_left ? left : right;
    }
  }
  return std::nullopt;
}

}  // namespace cleave
