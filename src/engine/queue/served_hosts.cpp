// The part of ServedQueue that keeps to what the hosts of nodes have. It leaves out GPUs whose host
// has too little for the job that is looked at, keeps a part of the host with each spot that is
// kept, and lets no job take that.

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/queue/served_queue.hpp"

namespace cleave {

namespace {

constexpr int most_rounds = 8;

HostAmount larger_of(const HostAmount& a, const HostAmount& b) {
  return {std::max(a.millicpus, b.millicpus), std::max(a.memory, b.memory)};
}

HostAmount smaller_of(const HostAmount& a, const HostAmount& b) {
  return {std::min(a.millicpus, b.millicpus), std::min(a.memory, b.memory)};
}

/// What is left of the room where `keeps` says so of a spot.
template <class Keeps>
Room filtered(GpuId gpu, Room room, const Keeps& keeps) {
  if (room.whole && !keeps(Spot{gpu, std::nullopt})) room.whole = false;
  for (const PlacementId id : room.placements)
    if (!keeps(Spot{gpu, id})) room.placements.erase(id);
  return room;
}

}  // namespace

/// Every spot of the GPU that it may have one day, as things are.
Room ServedQueue::offered(QueueHost& host, GpuId gpu, RequestId request) const {
  const Room room = host.room_now(gpu, request);
  if (!hosts_) return room;
  return filtered(gpu, room, [&](Spot at) { return hosts_->room().could_hold(request, at); });
}

/// Whether some GPU may have a spot for it one day, whose host could hold it.
bool ServedQueue::could_host(RequestId request, const std::function<Room(GpuId)>& room) const {
  if (!hosts_) return true;
  for (std::size_t i = 0; i < holders_.gpus(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const auto could = [&](Spot at) { return hosts_->room().could_hold(request, at); };
    if (!filtered(gpu, room(gpu), could).empty()) return true;
  }
  return false;
}

bool ServedQueue::host_takes(Waiting job, Spot spot, Instant now, bool moves) {
  if (!hosts_) return true;
  return hosts_->takes(job.request, spot, holders_.time_of(job.job, spot), now,
                       moves ? std::optional(job.job) : std::nullopt);
}

Room ServedQueue::hosted(Waiting job, GpuId gpu, Room room, Instant now) {
  if (!hosts_) return room;
  return filtered(gpu, room, [&](Spot at) { return host_takes(job, at, now); });
}

/// By the scheduler's own rule on the GPUs whose hosts leave all of it, or else on what is left of
/// the others.
std::optional<Spot> ServedQueue::spot_by_hosts(const Group& group, QueueHost& host, Instant now) {
  const Waiting job = group.job;
  std::vector<std::pair<GpuId, Room>> rest;
  std::vector<GpuId> left_out;
  for (std::size_t i = 0; i < holders_.gpus(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const Room all = allowed(group, gpu, host.room_now(gpu, job.request));
    if (all.empty()) continue;
    const Room left = reserved_on_.contains(gpu) ? left_by_reservations(group, gpu, all, now)
                                                 : hosted(job, gpu, free_room(gpu, all), now);
    if (!left.empty()) rest.emplace_back(gpu, left);
    if (reserved_on_.contains(gpu)) continue;
    const Room could = hosted(job, gpu, all, now);
    if (could.whole == all.whole && could.placements == all.placements) continue;
    left_out.push_back(gpu);
    host.set_aside(gpu, true);
  }
  const auto found = host.find(job);
  for (const GpuId gpu : left_out) host.set_aside(gpu, false);
  if (found && has_slices_for(group, *found) && host_takes(job, *found, now)) return found;
  for (const auto& [gpu, left] : rest)
    if (const auto spot = host.find_on(job, gpu, left); spot && host_takes(job, *spot, now))
      return spot;
  return std::nullopt;
}

/// The earliest time, not before `from`, at which neither what is reserved on the spot nor its host
/// is in the way.
Instant ServedQueue::hosted_start(const Group& group, Spot spot, Instant from, Instant now) {
  const Waiting job = group.job;
  from = earliest_start(group, spot, from);
  const std::uint32_t node = hosts_->room().node(spot.gpu);
  const HostAmount amount = hosts_->room().amount(job.request, spot);
  for (int round = 0; from != never && round < most_rounds; ++round) {
    const Instant then = hosts_->earliest(node, amount, from, time_of(job.job, spot), now);
    if (then == from) return from;
    from = then == never ? never : earliest_start(group, spot, then);
  }
  return never;
}

std::optional<Reservation> ServedQueue::earliest_hosted(const Group& group, QueueHost& host,
                                                        Instant now) {
  const Waiting job = group.job;
  std::optional<SpotRank> best;
  for (std::size_t i = 0; i < holders_.gpus(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const Room there = room_now(group, host, gpu);
    const Geometry& geometry = holders_.geometry(gpu);
    const auto look_at = [&](Spot spot, int slices) {
      const Instant from = hosted_start(group, spot, holders_.free_from(spot, now), now);
      if (from == never && !may_be_kept(spot)) return;
      const SpotRank rank{from, from == never ? holders_.in_the_way(spot) : 0, slices, spot};
      if (!best || rank < *best) best = rank;
    };
    if (there.whole) look_at({gpu, std::nullopt}, geometry.model().memory_slices.value);
    for (const PlacementId placement : there.placements)
      look_at({gpu, placement}, geometry[placement].profile->memory.value);
  }
  if (!best) return std::nullopt;
  return Reservation{job, best->spot, best->from, later(best->from, time_of(job.job, best->spot))};
}

// Services and leases.

/// Those that make room for it give back what they have of the host, and no others do.
void ServedQueue::keep_to_host(const Group& group, Way& way, Instant now) {
  const Waiting job = group.job;
  const std::uint32_t node = hosts_->room().node(way.spot.gpu);
  const HostAmount wanted = hosts_->room().amount(job.request, way.spot);
  const auto time = time_of(job.job, way.spot);
  HostAmount freed;
  for (const Holders::Occupant& each : holders_.occupants(way.spot, now))
    if (evictions_->makes_room(each.job, job.job)) freed += hosts_->room().has(each.job);
  HostAmount left = smaller_of(hosts_->room().left(node), hosts_->least_left(node, now, time, now));
  left += freed;
  const bool at_once = HostRoom::times(hosts_->room().host(node), left, wanted) > 0;
  if (way.from == now && at_once) return;
  const Instant from = hosted_start(group, way.spot, way.from, now);
  if (from == now && way.from == now) way.staying = std::max(way.staying, 1);  // it is not yet so
  way.from = std::max(way.from, from);
}

// Jobs of several places.

/// The most that this number of places on the GPU has of its host. Where the job does not say, that
/// is no more than the share of the whole GPU, whichever of the spots they are.
HostAmount ServedQueue::most_of_host(RequestId request, GpuId gpu, int places) {
  const HostRoom& has = hosts_->room();
  HostAmount each;
  const Room& offered = gangs_->offered(request)[holders_.kind(gpu)];
  const HostAmount whole = has.amount(request, {gpu, std::nullopt});
  if (offered.whole) each = whole;
  for (const PlacementId id : offered.placements)
    each = larger_of(each, has.amount(request, {gpu, id}));
  HostAmount all{each.millicpus * places, MiB{each.memory.value * places}};
  const HostAsk& asked = (*requests_)[request].request.host;
  if (!asked.millicpus) all.millicpus = std::min(all.millicpus, whole.millicpus);
  if (!asked.memory) all.memory = std::min(all.memory, whole.memory);
  return all;
}

/// No more places on a node than its host has room for, on first those GPUs on which they take
/// least of it: now and for so long, or, without `now`, if nothing else ran.
GangRoom ServedQueue::within_hosts(GangRoom room, RequestId request, GangTime time,
                                   std::optional<Instant> now) {
  if (!hosts_) return room;
  HostRoom& has = hosts_->room();
  const Together together = (*requests_)[request].request.together;
  const auto& nodes = gangs_->nodes().gpus;
  std::vector<std::pair<HostAmount, GpuId>> gpus;  // and what one place there takes
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    const HostNode& host = has.host(node);
    gpus.clear();
    for (const GpuId gpu : nodes[node])
      if (room.on(gpu) > 0) gpus.emplace_back(most_of_host(request, gpu, 1), gpu);
    if (gpus.empty()) continue;
    std::ranges::sort(gpus, {}, [](const auto& each) {
      return std::tuple(each.first.millicpus, each.first.memory, each.second);
    });
    HostAmount left{host.has.millicpus.value_or(0), host.has.memory.value_or(MiB{0})};
    if (now) left = smaller_of(has.left(node), hosts_->least_left(node, *now, time, *now));
    for (const auto& [one, gpu] : gpus) {
      int here = together == Together::spread ? 1 : room.on(gpu);
      while (here > 0 && HostRoom::times(host, left, most_of_host(request, gpu, here)) == 0) --here;
      room.set(gpu, here);
      if (together != Together::gpu) left -= most_of_host(request, gpu, here);
    }
  }
  return room;
}

/// Whether the hosts of the spots could hold all of it, if nothing else ran.
bool ServedQueue::hosts_hold(const std::vector<Spot>& spots, RequestId request) const {
  std::map<std::uint32_t, HostAmount> by_node;
  for (const Spot& spot : spots)
    by_node[hosts_->room().node(spot.gpu)] += hosts_->room().amount(request, spot);
  return std::ranges::all_of(by_node, [&](const auto& each) {
    return holds(hosts_->room().host(each.first), {}, each.second);
  });
}

/// The plan, from when the hosts have room for all of it.
ServedQueue::GangPlan ServedQueue::when_hosted(const Group& group, GangPlan plan, GangTime longest,
                                               Instant now) {
  std::map<std::uint32_t, HostAmount> by_node;
  for (const Spot& spot : plan.spots)
    by_node[hosts_->room().node(spot.gpu)] += hosts_->room().amount(group.job.request, spot);
  for (int round = 0; round < most_rounds && plan.from != never; ++round) {
    Instant from = plan.from;
    for (const auto& [node, amount] : by_node)
      from = std::max(from, hosts_->earliest(node, amount, plan.from, longest, now));
    for (const Spot& spot : plan.spots)
      from = std::max(from, earliest_start(group, spot, plan.from));
    if (from == plan.from) return plan;
    plan.from = from;
  }
  plan.from = never;
  return plan;
}

/// Places that the hosts could hold, whatever runs there.
std::optional<ServedQueue::GangPlan> ServedQueue::spots_within_hosts(const Group& group,
                                                                     QueueHost& host) {
  const RequestId request = group.job.request;
  const auto kept = [&](GpuId gpu) {
    return filtered(gpu, room_now(group, host, gpu), [&](Spot at) { return may_be_kept(at); });
  };
  GangRoom ever(gangs_->nodes());
  for (std::size_t i = 0; i < gangs_->gpus(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    ever.set(gpu, gangs_->most(gpu, kept(gpu), {}));
  }
  ever = within_hosts(std::move(ever), request, {}, {});
  const Request& asked = (*requests_)[request].request;
  if (!ever.fits(asked.places, asked.together)) return std::nullopt;
  GangPlan plan{never, {}};
  for (const GangRoom::Share& share : ever.choose(asked.places, asked.together))
    append_spots(share.gpu, kept(share.gpu), {}, share.places, plan.spots);
  return plan;
}

}  // namespace cleave
