// The part of ServedQueue that serves jobs of several places and of whole GPUs.
//
// A gang ends with its slowest process, and whether it may start in the way of what is kept for
// others depends on when it ends. So where spots differ in speed, it is tried with all of them
// first, and then without the slowest: it starts if and only if some choice of spots delays none.

#include <algorithm>
#include <cassert>
#include <tuple>

#include "engine/queue/served_queue.hpp"

namespace cleave {

namespace {

/// Where one is not known, it is the longer.
bool longer(std::optional<Duration> a, std::optional<Duration> b) {
  return b && (!a || *a > *b);
}

}  // namespace

bool ServedQueue::together(Waiting job) const {
  return gangs_ && seated_together((*requests_)[job.request].request);
}

Gang ServedQueue::gang_of(Waiting job) const {
  if ((*requests_)[job.request].request.places == 1) return {job.job, job.job, 1};
  return facts_->gang(job.job);
}

bool ServedQueue::could_seat(QueueHost& host, RequestId request, std::optional<std::int64_t> most) {
  const Request& asked = (*requests_)[request].request;
  const auto room = [&](GpuId gpu) {
    const Room ever = host.room(gpu, request);
    return most ? of_at_most(*most / std::int64_t{asked.places}, gpu, ever) : ever;
  };
  if (!gangs_ || !seated_together(asked)) return could_host(request, room);
  GangRoom ever(gangs_->nodes());
  for (std::size_t i = 0; i < gangs_->gpus(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    ever.set(gpu, gangs_->most(gpu, room(gpu), {}));
  }
  if (hosts_) static_cast<void>(gangs_->free(request, host));  // so that it knows what is offered
  ever = within_hosts(std::move(ever), request, {}, {});
  return ever.fits(asked.places, asked.together);
}

bool ServedQueue::could_seat(QueueHost& host, RequestId request) {
  if (could_seat_.size() <= index(request)) could_seat_.resize(index(request) + 1);
  if (!could_seat_[index(request)])
    could_seat_[index(request)] = could_seat(host, request, std::nullopt);
  return could_seat_[index(request)];
}

// How long it takes.

std::vector<ServedQueue::GangTime> ServedQueue::times_of(Waiting job, QueueHost& host) {
  static_cast<void>(gangs_->free(job.request, host));
  std::vector<GangTime> times;
  const std::vector<Room>& offered = gangs_->offered(job.request);
  for (std::size_t kind = 0; kind < offered.size(); ++kind) {
    const GpuId gpu = gangs_->example(kind);
    if (offered[kind].whole) times.push_back(time_of(job.job, {gpu, std::nullopt}));
    for (const PlacementId id : offered[kind].placements)
      times.push_back(time_of(job.job, {gpu, id}));
  }
  std::ranges::sort(times, longer);
  const auto rest = std::ranges::unique(times);
  times.erase(rest.begin(), rest.end());
  return times;
}

/// Those of the spots on which it takes no longer than that.
Room ServedQueue::within(JobId job, GpuId gpu, Room room, GangTime longest) {
  if (room.whole && longer(time_of(job, {gpu, std::nullopt}), longest)) room.whole = false;
  for (const PlacementId id : room.placements)
    if (longer(time_of(job, {gpu, id}), longest)) room.placements.erase(id);
  return room;
}

void ServedQueue::adopt_process(Waiting job, Spot spot, Instant since) {
  const Gang gang = gang_of(job);
  const GangTime time = holders_.time_of(job.job, spot);
  const auto [known, fresh] = adopted_gangs_.try_emplace(gang.leader, time);
  if (longer(time, known->second)) known->second = time;
  for (std::uint32_t rank = 0; rank < gang.size; ++rank) {
    const auto gpu = holders_.gpu_of(gang.member(rank));
    if (!gpu) continue;
    holders_.takes(gang.member(rank), since, known->second);
    room_changed(*gpu);
  }
}

// What starts.

/// What of the GPU it may have now.
Room ServedQueue::left_to_gang(const Group& group, QueueHost& host, GpuId gpu, Instant now,
                               const Seating& seating) {
  const auto reserved = reserved_on_.find(gpu);
  if (reserved == reserved_on_.end() && seating.own_alone) return {};
  Room left = gangs_->free_on(gpu, room_now(group, host, gpu));
  left = within(group.job.job, gpu, left, seating.longest);
  if (reserved == reserved_on_.end()) return left;
  bool own = false;
  for (const std::size_t i : reserved->second) {
    const Reservation& other = reservations_[i];
    own = own || (other.from <= now && owns(group, other));
    if (ends_before(other, now, seating.longest)) continue;
    if (left.whole && meets(group, {gpu, std::nullopt}, other)) left.whole = false;
    for (const PlacementId id : left.placements)
      if (meets(group, {gpu, id}, other)) left.placements.erase(id);
  }
  return own || !seating.own_alone ? left : Room{};
}

GangRoom ServedQueue::room_for_gang(const Group& group, QueueHost& host, Instant now,
                                    const Seating& seating, bool slowest) {
  const auto look_at = [&](GangRoom& room, GpuId gpu) {
    const Room left = left_to_gang(group, host, gpu, now, seating);
    room.set(gpu, gangs_->most(gpu, left, gangs_->held(gpu)));
  };
  // Where nothing is kept, the room of the slowest is that of all users that have no limit.
  const bool known = slowest && !seating.own_alone && !rules_.user.slices;
  GangRoom room = known ? gangs_->free(group.job.request, host) : GangRoom(gangs_->nodes());
  if (known || seating.own_alone) {
    for (const auto& [gpu, reservations] : reserved_on_) look_at(room, gpu);
  } else {
    for (std::size_t i = 0; i < gangs_->gpus(); ++i) look_at(room, static_cast<GpuId>(i));
  }
  return room;
}

std::optional<ServedQueue::Seating> ServedQueue::seating_for(const Group& group, QueueHost& host,
                                                             Instant now, bool own_alone) {
  const Request& asked = (*requests_)[group.job.request].request;
  const GangRoom& free = gangs_->free(group.job.request, host);
  if (!free.fits(asked.places, asked.together)) return std::nullopt;
  if (reserved_on_.empty() && !hosts_) {
    if (own_alone) return std::nullopt;
    if (!rules_.user.slices)
      return Seating{free.choose(asked.places, asked.together), std::nullopt};
    Seating seating;
    const GangRoom room = room_for_gang(group, host, now, seating, false);
    if (!room.fits(asked.places, asked.together)) return std::nullopt;
    seating.shares = room.choose(asked.places, asked.together);
    return seating;
  }
  const std::vector<GangTime> times = times_of(group.job, host);
  for (const bool own : {true, false}) {
    if (own ? !owns_now(group, now) : own_alone) continue;
    for (const GangTime& longest : times) {
      Seating seating{{}, longest, own};
      const GangRoom room =
          within_hosts(room_for_gang(group, host, now, seating, longest == times.front()),
                       group.job.request, longest, now);
      if (!room.fits(asked.places, asked.together)) continue;
      seating.shares = room.choose(asked.places, asked.together);
      return seating;
    }
  }
  return std::nullopt;
}

bool ServedQueue::start_gang(Group& group, QueueHost& host, Instant now, bool own_alone,
                             std::vector<Command>& commands) {
  const auto seating = seating_for(group, host, now, own_alone);
  if (!seating) return false;
  const Waiting job = group.job;
  const Gang gang = gang_of(job);
  dequeue(group);
  waiting_gangs_.erase(job.job);
  std::vector<Spot> spots;
  GangTime slowest = Duration{};
  for (const GangRoom::Share& share : seating->shares)
    for (std::uint32_t more = share.places; more-- > 0;) {
      const Room left = left_to_gang(group, host, share.gpu, now, *seating);
      const Room among =
          gangs_->leaving(share.gpu, left, gangs_->held(share.gpu), static_cast<int>(more));
      const auto spot = host.find_on(job, share.gpu, among);
      assert(spot);
      const JobId process = gang.member(static_cast<std::uint32_t>(spots.size()));
      host.start({process, job.request}, *spot, commands);
      holders_.start(process, *spot, now);
      room_changed(spot->gpu);
      spots.push_back(*spot);
      if (const GangTime time = time_of(job.job, *spot); longer(time, slowest)) slowest = time;
    }
  for (std::uint32_t rank = 0; rank < gang.size; ++rank)
    holders_.takes(gang.member(rank), now, slowest);
  charge(job.job, static_cast<std::size_t>(&group - groups_.data()), spots, now);
  return true;
}

// What is kept.

/// What of the GPU is expected to be free for it from then on, for as long as it takes.
Room ServedQueue::free_at(const Group& group, QueueHost& host, GpuId gpu, GangTime longest,
                          Instant at, Instant now) {
  const Room all = within(group.job.job, gpu, room_now(group, host, gpu), longest);
  const auto reserved = reserved_on_.find(gpu);
  const auto free = [&](Spot spot) {
    if (holders_.free_from(spot, now) > at) return false;
    if (reserved == reserved_on_.end()) return true;
    return std::ranges::none_of(reserved->second, [&](std::size_t i) {
      const Reservation& other = reservations_[i];
      return other.end > at && !ends_before(other, at, longest) && meets(group, spot, other);
    });
  };
  Room left = all;
  left.whole = all.whole && free({gpu, std::nullopt});
  for (const PlacementId id : all.placements)
    if (!free({gpu, id})) left.placements.erase(id);
  return left;
}

/// When, after `now`, more or less of the GPU is expected to be free for a job that takes so long.
void ServedQueue::append_changes(GpuId gpu, GangTime time, Instant now,
                                 std::vector<Instant>& changes) const {
  holders_.ends_on(gpu, now, changes);
  const auto reserved = reserved_on_.find(gpu);
  if (reserved != reserved_on_.end())
    for (const std::size_t i : reserved->second) {
      const Reservation& other = reservations_[i];
      if (other.end != never) changes.push_back(other.end);
      if (other.from == never) continue;
      changes.push_back(other.from);
      if (const auto before = time_before(other, time))
        changes.push_back(other.from - *before + Duration{1});
    }
  std::erase_if(changes, [&](Instant change) { return change <= now; });
}

/// So many of the free ones: the smaller, the lower.
void ServedQueue::append_spots(GpuId gpu, Room free, PlacementSet held, std::uint32_t places,
                               std::vector<Spot>& spots) {
  const Geometry& geometry = holders_.geometry(gpu);
  if (free.whole) return spots.push_back({gpu, std::nullopt});
  for (std::uint32_t more = places; more-- > 0;) {
    const Room among = gangs_->leaving(gpu, free, held, static_cast<int>(more));
    const auto rank = [&](PlacementId id) {
      return std::tuple(geometry[id].profile->memory.value, id);
    };
    PlacementId best = among.placements.first();
    for (const PlacementId id : among.placements)
      if (rank(id) < rank(best)) best = id;
    spots.push_back({gpu, best});
    held.insert(best);
    free.placements = free.placements - PlacementSet::of(best) - geometry[best].conflicts;
  }
}

/// Goes through the times at which that may change, in their order. Where ends are kept in order
/// and no spot is left out, what is free now is known of GPUs on which nothing is kept.
std::optional<ServedQueue::GangPlan> ServedQueue::earliest_together(const Group& group,
                                                                    QueueHost& host,
                                                                    GangTime longest, bool slowest,
                                                                    Instant now) {
  const RequestId request = group.job.request;
  const Request& asked = (*requests_)[request].request;
  const bool known = slowest && ends_ && !rules_.user.slices;
  GangRoom room = known ? gangs_->free(request, host) : GangRoom(gangs_->nodes());
  const auto look_at = [&](GpuId gpu, Instant at) {
    const Room free = free_at(group, host, gpu, longest, at, now);
    room.set(gpu, gangs_->most(gpu, free, holders_.held_at(gpu, at, now)));
  };
  std::vector<std::pair<Instant, GpuId>> changes;  // but for `ends`
  std::vector<Instant> here;
  const auto look_through = [&](GpuId gpu) {
    look_at(gpu, now);
    here.clear();
    append_changes(gpu, longest, now, here);
    for (const Instant change : here) changes.emplace_back(change, gpu);
  };
  const ExpectedEnds::InOrder none;
  const ExpectedEnds::InOrder& ends = known ? ends_->in_order() : none;
  if (known) {
    for (const auto& [gpu, reservations] : reserved_on_) look_through(gpu);
  } else {
    for (std::size_t i = 0; i < gangs_->gpus(); ++i) look_through(static_cast<GpuId>(i));
  }
  std::ranges::make_heap(changes, std::greater{});
  auto end = ends.begin();
  for (; end != ends.end() && end->first <= now; ++end) look_at(end->second, now);
  Instant at = now;
  const auto fits = [&] {
    return room.fits(asked.places, asked.together) &&
           (!hosts_ || within_hosts(room, request, {}, {}).fits(asked.places, asked.together));
  };
  while (!fits()) {
    if (changes.empty() && end == ends.end()) return std::nullopt;
    at = std::min(changes.empty() ? never : changes.front().first,
                  end == ends.end() ? never : end->first);
    for (; end != ends.end() && end->first == at; ++end) look_at(end->second, at);
    while (!changes.empty() && changes.front().first == at) {
      std::ranges::pop_heap(changes, std::greater{});
      look_at(changes.back().second, at);
      changes.pop_back();
    }
  }
  GangPlan plan{at, {}};
  room = within_hosts(std::move(room), request, {}, {});
  for (const GangRoom::Share& share : room.choose(asked.places, asked.together))
    append_spots(share.gpu, free_at(group, host, share.gpu, longest, at, now),
                 holders_.held_at(share.gpu, at, now), share.places, plan.spots);
  return hosts_ ? when_hosted(group, std::move(plan), longest, now) : plan;
}

std::optional<ServedQueue::GangPlan> ServedQueue::fewest_in_the_way(const Group& group,
                                                                    QueueHost& host) {
  const RequestId request = group.job.request;
  auto spots = gangs_->least_in_the_way((*requests_)[request].request, [&](GpuId gpu) {
    Room kept = room_now(group, host, gpu);
    kept.whole = kept.whole && may_be_kept({gpu, std::nullopt});
    for (const PlacementId id : kept.placements)
      if (!may_be_kept({gpu, id})) kept.placements.erase(id);
    return kept;
  });
  if (hosts_ && (!spots || !hosts_hold(*spots, request))) return spots_within_hosts(group, host);
  if (!spots) return std::nullopt;
  return GangPlan{never, std::move(*spots)};
}

bool ServedQueue::reserve_gang(Group& group, QueueHost& host, Instant now) {
  const Waiting job = group.job;
  std::optional<GangPlan> best;
  const std::vector<GangTime> times = times_of(job, host);
  for (const GangTime& longest : times) {
    auto plan = earliest_together(group, host, longest, longest == times.front(), now);
    if (plan && plan->from != never && (!best || plan->from < best->from)) best = std::move(plan);
  }
  if (!best) best = fewest_in_the_way(group, host);
  if (!best) return false;
  GangTime slowest = Duration{};
  for (const Spot spot : best->spots)
    if (const GangTime time = time_of(job.job, spot); longer(time, slowest)) slowest = time;
  for (const Spot spot : best->spots) {
    keep({job, spot, best->from, later(best->from, slowest)}, host);
    group.kept += slices_of(spot);
  }
  return true;
}

}  // namespace cleave
