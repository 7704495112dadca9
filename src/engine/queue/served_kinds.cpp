// How room is made for services and leases.

#include <utility>

#include "engine/queue/served_queue.hpp"

namespace cleave {

/// Empty where the spot is kept for another, and it is not known until when.
std::optional<ServedQueue::Way> ServedQueue::way_to(const Group& group, Spot spot, Instant now) {
  const Geometry& geometry = holders_.geometry(spot.gpu);
  Way way{.from = now, .spot = spot};
  way.slices = spot.placement ? geometry[*spot.placement].profile->memory.value
                              : geometry.model().memory_slices.value;
  for (const Holders::Occupant& each : holders_.occupants(spot, now)) {
    if (evictions_->makes_room(each.job, group.job.job)) {
      way.lost += in_seconds(evictions_->loses(each, holders_.kind(spot.gpu), now)) * each.slices;
      ++way.stopped;
    } else {
      way.from = std::max(way.from, each.leaves);
      way.staying += each.slices;
    }
  }
  way.from = earliest_start(group, spot, way.from);
  if (hosts_) keep_to_host(group, way, now);
  if (way.from == never && !may_be_kept(spot)) return std::nullopt;
  if (way.from != never && way.from > now) way.staying = 0;
  return way;
}

std::optional<ServedQueue::Way> ServedQueue::best_way(const Group& group, QueueHost& host,
                                                      Instant now) {
  std::optional<Way> best;
  const auto consider = [&](Spot spot) {
    const auto way = way_to(group, spot, now);
    if (way && (!best || *way < *best)) best = way;
  };
  for (std::size_t i = 0; i < holders_.gpus(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const Room room = room_now(group, host, gpu);
    if (room.whole) consider({gpu, std::nullopt});
    for (const PlacementId placement : room.placements) consider({gpu, placement});
  }
  return best;
}

bool ServedQueue::make_room(Group& group, QueueHost& host, Instant now,
                            std::vector<Command>& commands) {
  if (!evictions_->takes_room(group.job.job)) return false;
  if (together(group.job) && gang_of(group.job).size > 1) return false;  // it waits like a batch
  if (without_room_ == rules_.depth) {                                   // no more are looked at
    ++group.next;
    return true;
  }
  const auto way = best_way(group, host, now);
  // One that takes longer than expected may leave at any moment, but has not yet.
  if (way && way->from == now && way->staying == 0) {
    stop_those_in_the_way(group, way->spot, host, now, commands);
    waiting_gangs_.erase(group.job.job);  // a whole GPU is had as a gang of one
    start_on(way->spot, group, host, now, commands);
    return true;
  }
  ++without_room_;
  if (way) {
    keep({group.job, way->spot, way->from, later(way->from, time_of(group.job.job, way->spot))},
         host);
    ++group.reserved;
    group.kept += slices_of(way->spot);
  }
  ++group.next;
  return true;
}

void ServedQueue::stop_those_in_the_way(const Group& group, Spot spot, QueueHost& host, Instant now,
                                        std::vector<Command>& commands) {
  for (const Holders::Occupant& each : holders_.occupants(spot, now)) {
    if (!evictions_->makes_room(each.job, group.job.job)) continue;
    commands.push_back(evictions_->stop(each.job));
    evicted_.push_back(host.vacate(each.job));
    left(each.job, now);
  }
}

/// They may find room elsewhere.
void ServedQueue::serve_again(QueueHost& host, Instant now, std::vector<Command>& commands) {
  for (const Waiting& job : std::exchange(evicted_, {})) insert(job, now);
  serve(host, now, commands);
}

std::optional<Spot> ServedQueue::resized(QueueHost& host, Waiting lease, Spot from, Instant now) {
  if (!from.placement) return std::nullopt;  // between a GPU with MIG off and instances none goes
  const PlacementSet enough = (*requests_)[lease.request].holds[holders_.kind(from.gpu)];
  const auto spot = host.find(lease);
  if (!spot || !spot->placement || reserved(spot->gpu)) return std::nullopt;
  if (!host_takes(lease, *spot, now, true)) return std::nullopt;
  const std::int64_t more = slices_of(*spot) - slices_of(from);
  const Group* group = known_group_of(lease.job);
  if (rules_.user.slices && more > 0 && group->held + more > *rules_.user.slices)
    return std::nullopt;
  const auto memory = [&](Spot at) {
    return holders_.geometry(at.gpu)[*at.placement].profile->memory;
  };
  if (enough.contains(*from.placement) && memory(*spot) >= memory(from)) return std::nullopt;
  return spot;
}

}  // namespace cleave
