#include "engine/queue/served_queue.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"

namespace cleave {

namespace {

std::pair<std::string, std::string> owner_of(const JobFacts* facts, JobId job) {
  const std::string* account = facts == nullptr ? nullptr : facts->account(job);
  const std::string* user = facts == nullptr ? nullptr : facts->user(job);
  return {account == nullptr ? std::string() : *account, user == nullptr ? std::string() : *user};
}

}  // namespace

ServedQueue::ServedQueue(const SchedulerSetup& setup, QueueRules rules)
    : rules_(std::move(rules)),
      plain_(rules_.plain() && !setup.gangs && !setup.kinds && setup.host == nullptr),
      holds_(rules_.backfill != Backfill::none || !rules_.advance.empty() || setup.gangs ||
             setup.kinds || setup.host != nullptr || rules_.user.slices),
      facts_(setup.facts),
      requests_(&setup.requests),
      holders_(setup.fleet, setup.facts),
      shares_(rules_) {
  if (setup.host != nullptr) hosts_.emplace(*setup.host, holders_);
  const bool fixed = facts_ == nullptr || !facts_->expects_anew();
  // With a limit of slices, what a job may have differs by user.
  if (rules_.backfill != Backfill::none && setup.use_index && fixed && !hosts_ &&
      !rules_.user.slices)
    index_.emplace(holders_);
  if (setup.gangs) gangs_.emplace(setup.fleet, setup.requests, holders_);
  if (index_ && gangs_) ends_.emplace(holders_);
  rules_.by_kind = rules_.by_kind && setup.kinds;
  if (setup.kinds && facts_ != nullptr) evictions_.emplace(setup, rules_.evictions);
  if (!rules_.by_user()) groups_.emplace_back(JobQueue(facts_, rules_.by_deadline, rules_.by_kind));
  if (!rules_.by_share || facts_ == nullptr) return;
  for (const PastUse& use : facts_->past_use())
    shares_.held(shares_.member(use.account, use.user), use.slices, use.from, use.to);
}

// What waits.

std::size_t ServedQueue::group_of(JobId job) {
  if (!rules_.by_user()) return 0;
  const auto owner = owner_of(facts_, job);
  const auto [known, fresh] = group_numbers_.try_emplace(owner, groups_.size());
  if (fresh) {
    Group& group = groups_.emplace_back(JobQueue(facts_, rules_.by_deadline, rules_.by_kind));
    group.member = shares_.member(owner.first, owner.second);
    group.account = owner.first;
    group.user = owner.second;
  }
  return known->second;
}

const ServedQueue::Group* ServedQueue::known_group_of(JobId job) const {
  if (!rules_.by_user()) return groups_.data();
  const auto known = group_numbers_.find(owner_of(facts_, job));
  return known == group_numbers_.end() ? nullptr : &groups_[known->second];
}

void ServedQueue::insert(Waiting job, Instant now) {
  left(job.job, now);
  if (together(job)) {
    job.job = gang_of(job).leader;
    discharge(job.job, now);
    if (!waiting_gangs_.insert(job.job).second) return;
  }
  groups_[group_of(job.job)].jobs.insert(job);
  ++waiting_;
}

void ServedQueue::erase(JobId job) {
  if (gangs_) waiting_gangs_.erase(job);
  JobQueue& jobs = groups_[group_of(job)].jobs;
  const std::size_t before = jobs.size();
  jobs.erase(job);
  waiting_ -= before - jobs.size();
}

// What runs.

void ServedQueue::charge(JobId job, std::size_t group, std::span<const Spot> spots, Instant now) {
  if (!rules_.by_user()) return;
  std::int64_t slices = 0;
  for (const Spot spot : spots) slices += slices_of(spot);
  const auto [charged, fresh] = charged_.try_emplace(job, Charge{.group = group});
  charged->second.slices += slices;
  charged->second.held += slices;
  groups_[group].held += slices;
  if (fresh) ++groups_[group].running;
  shares_.hold(groups_[group].member, slices, now);
}

void ServedQueue::discharge(JobId job, Instant now) {
  adopted_gangs_.erase(job);
  const auto charged = charged_.find(job);
  if (charged == charged_.end()) return;
  Group& group = groups_[charged->second.group];
  --group.running;
  group.held -= charged->second.held;
  shares_.release(group.member, charged->second.slices, now);
  charged_.erase(charged);
}

void ServedQueue::left(JobId job, Instant now) {
  if (plain_) return;
  if (holds_) {
    if (const auto gpu = holders_.gpu_of(job)) room_changed(*gpu);
    holders_.leave(job);
  }
  discharge(job, now);
}

void ServedQueue::runs(Waiting job, Spot spot, Instant now) {
  if (plain_) return;
  const auto known = facts_ == nullptr ? std::nullopt : facts_->running_since(job.job);
  const Instant since = known.value_or(now);
  if (holds_) holders_.start(job.job, spot, since);
  room_changed(spot.gpu);
  const std::size_t group = group_of(job.job);
  const bool of_gang = together(job);
  if (of_gang) adopt_process(job, spot, since);
  if (rules_.by_share && since < now)
    shares_.held(groups_[group].member, slices_of(spot), since, now);
  charge(of_gang ? gang_of(job).leader : job.job, group, {&spot, 1}, now);
}

void ServedQueue::moved(JobId job, Spot to) {
  if (!holds_) return;
  if (const auto gpu = holders_.gpu_of(job)) room_changed(*gpu);
  holders_.move(job, to);
  room_changed(to.gpu);
  const auto charged = charged_.find(job);
  if (charged == charged_.end()) return;
  groups_[charged->second.group].held += slices_of(to) - charged->second.held;
  charged->second.held = slices_of(to);
}

void ServedQueue::room_changed(GpuId gpu) {
  if (index_) index_->changed(gpu);
  if (ends_) ends_->changed(gpu);
  if (gangs_) gangs_->changed(gpu);
}

std::int64_t ServedQueue::slices_of(Spot spot) const {
  const Geometry& geometry = holders_.geometry(spot.gpu);
  return spot.placement ? geometry[*spot.placement].profile->compute.value
                        : geometry.model().compute.value;
}

// Whose turn it is.

bool ServedQueue::at_limit(const Group& group, Waiting job, bool kept_too) const {
  const auto& [jobs, slices] = rules_.user;
  if (jobs && group.running + (kept_too ? group.reserved : 0) >= *jobs) return true;
  return slices && group.held + (kept_too ? group.kept : 0) + known_least(job.request) > *slices;
}

std::int64_t ServedQueue::known_least(RequestId request) const {
  return index(request) < least_.size() ? least_[index(request)] : 0;
}

std::int64_t ServedQueue::least_slices(QueueHost& host, RequestId request) {
  if (const std::int64_t known = known_least(request); known > 0) return known;
  std::optional<std::int64_t> least;
  const auto consider = [&](Spot spot) {
    const std::int64_t slices = slices_of(spot);
    least = std::min(least.value_or(slices), slices);
  };
  for (std::size_t i = 0; i < holders_.gpus(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const Room room = host.room(gpu, request);
    if (room.whole) consider({gpu, std::nullopt});
    for (const PlacementId placement : room.placements) consider({gpu, placement});
  }
  if (least_.size() <= index(request)) least_.resize(index(request) + 1);
  return least_[index(request)] =
             least.value_or(0) * std::int64_t{(*requests_)[request].request.places};
}

bool ServedQueue::exceeds_limits(QueueHost& host, RequestId request) {
  if (!rules_.user.slices) return false;
  if (least_slices(host, request) > *rules_.user.slices) return true;
  // The smallest may be on nodes, or with hosts, that do not have as many as are asked for.
  if (!could_seat(host, request)) return false;  // the limit is not the reason
  if (within_limits_.size() <= index(request)) within_limits_.resize(index(request) + 1);
  if (!within_limits_[index(request)])
    within_limits_[index(request)] = could_seat(host, request, rules_.user.slices);
  return !within_limits_[index(request)];
}

bool ServedQueue::has_slices_for(const Group& group, Spot spot) const {
  return !rules_.user.slices || group.held + group.kept + slices_of(spot) <= *rules_.user.slices;
}

/// Each of several places has the same part of what is left.
Room ServedQueue::allowed(const Group& group, GpuId gpu, Room room) const {
  if (!rules_.user.slices) return room;
  const std::int64_t left = *rules_.user.slices - group.held - group.kept;
  return of_at_most(left / std::int64_t{(*requests_)[group.job.request].request.places}, gpu, room);
}

Room ServedQueue::of_at_most(std::int64_t slices, GpuId gpu, Room room) const {
  if (room.whole && slices_of({gpu, std::nullopt}) > slices) room.whole = false;
  for (const PlacementId placement : room.placements)
    if (slices_of({gpu, placement}) > slices) room.placements.erase(placement);
  return room;
}

Room ServedQueue::room_now(const Group& group, QueueHost& host, GpuId gpu) const {
  return allowed(group, gpu, offered(host, gpu, group.job.request));
}

/// Where the one that the host would choose is larger than the user's limit allows.
std::optional<Spot> ServedQueue::smaller_spot(const Group& group, QueueHost& host) const {
  for (std::size_t i = 0; i < holders_.gpus(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    if (reserved_on_.contains(gpu)) continue;
    const Room room = free_room(gpu, room_now(group, host, gpu));
    if (!room.empty()) return host.find_on(group.job, gpu, room);
  }
  return std::nullopt;
}

bool ServedQueue::before(const Group& a, const Group& b, Instant now) const {
  const JobQueue::Turn turn_a = a.jobs.turn(a.next), turn_b = b.jobs.turn(b.next);
  if (turn_a.rank != turn_b.rank) return turn_a.rank < turn_b.rank;
  if (rules_.by_share) {
    const auto level_a = shares_.level(a.member, now), level_b = shares_.level(b.member, now);
    if (level_a != level_b) return level_a < level_b;
  }
  return turn_a < turn_b;
}

ServedQueue::Group* ServedQueue::next_group(QueueHost& host, Instant now, bool owners_alone) {
  Group* best = nullptr;
  for (Group& group : groups_) {
    if (group.next >= group.jobs.size()) continue;
    const Waiting job = group.jobs[group.next];
    if (rules_.user.slices) least_slices(host, job.request);
    if (!at_limit(group, job, true) && (!owners_alone || owns_now(group, now)) &&
        (best == nullptr || before(group, *best, now)))
      best = &group;
  }
  if (best != nullptr) best->job = best->jobs[best->next];
  return best;
}

// What starts.

void ServedQueue::dequeue(Group& group) {
  group.jobs.erase_at(group.next);
  --waiting_;
}

bool ServedQueue::start_next(Group& group, QueueHost& host, Instant now, bool own_alone,
                             std::vector<Command>& commands) {
  if (together(group.job)) return start_gang(group, host, now, own_alone, commands);
  const auto spot = spot_for(group, host, now, own_alone);
  if (spot) start_on(*spot, group, host, now, commands);
  return spot.has_value();
}

void ServedQueue::start_on(Spot spot, Group& group, QueueHost& host, Instant now,
                           std::vector<Command>& commands) {
  const Waiting job = group.job;
  dequeue(group);
  host.start(job, spot, commands);
  if (holds_) holders_.start(job.job, spot, now);
  room_changed(spot.gpu);
  charge(job.job, static_cast<std::size_t>(&group - groups_.data()), {&spot, 1}, now);
}

void ServedQueue::serve(QueueHost& host, Instant now, std::vector<Command>& commands) {
  if (plain_) {
    JobQueue& jobs = groups_.front().jobs;
    while (!jobs.empty()) {
      const Waiting job = jobs.front();
      const auto spot = host.find(job);
      if (!spot) return;
      jobs.pop_front();
      --waiting_;
      host.start(job, *spot, commands);
    }
    return;
  }
  reservations_.clear();
  forget_kept_of_hosts();
  kept_ = without_room_ = 0;
  ++looks_;
  for (Group& group : groups_) {
    group.next = group.reserved = 0;
    group.kept = 0;
  }
  take_advance(host, now, commands);
  const std::size_t most = rules_.backfill == Backfill::none           ? 0
                           : rules_.backfill == Backfill::conservative ? rules_.depth
                                                                       : 1;
  std::size_t seen = 0, reserved = 0;  // jobs
  while (Group* group = next_group(host, now, false)) {
    if (start_next(*group, host, now, false, commands)) continue;
    if (evictions_ && make_room(*group, host, now, commands)) continue;
    if (most == 0) break;
    if (reserved < most && reserve(*group, host, now)) ++reserved;
    ++group->next;
    if (++seen == rules_.depth) break;
  }
  if (advance_ > 0) start_owners(host, now, commands);
  forget_reservations(host);
  if (!evicted_.empty()) serve_again(host, now, commands);
}

/// What is theirs now does not wait for the jobs before them.
void ServedQueue::start_owners(QueueHost& host, Instant now, std::vector<Command>& commands) {
  for (std::size_t seen = 0; seen < rules_.depth;) {
    Group* group = next_group(host, now, true);
    if (group == nullptr) return;
    if (start_next(*group, host, now, true, commands)) continue;
    ++group->next;
    ++seen;
  }
}

std::optional<Spot> ServedQueue::spot_on(const Group& group, GpuId gpu, QueueHost& host,
                                         Instant now) {
  const Waiting job = group.job;
  const Room left = left_by_reservations(group, gpu, room_now(group, host, gpu), now);
  return left.empty() ? std::nullopt : host.find_on(job, gpu, left);
}

std::optional<Spot> ServedQueue::spot_for(const Group& group, QueueHost& host, Instant now,
                                          bool own_alone) {
  for (const Reservation& own : std::span(reservations_).first(advance_))
    if (own.from <= now && owns(group, own))
      if (const auto spot = spot_on(group, own.spot.gpu, host, now)) return spot;
  if (own_alone) return std::nullopt;
  if (hosts_) return spot_by_hosts(group, host, now);
  const Waiting job = group.job;
  Tried& tried = tried_with(job.request);
  if (!tried.in_vain) {
    const auto spot = host.find(job);
    if (spot && has_slices_for(group, *spot)) return spot;
    if (const auto smaller = spot ? smaller_spot(group, host) : spot) return smaller;
    // Whether a job would rather offload is its own matter.
    tried.in_vain = !spot && !(*requests_)[job.request].request.offload;
  }
  if (tried.full_with == kept_) return std::nullopt;
  bool full = true;
  for (const auto& [gpu, reservations] : reserved_on_) {
    if (free_room(gpu, host.room_now(gpu, job.request)).empty()) continue;
    full = false;
    if (const auto spot = spot_on(group, gpu, host, now)) return spot;
  }
  if (full) tried.full_with = kept_;
  return std::nullopt;
}

ServedQueue::Tried& ServedQueue::tried_with(RequestId request) {
  if (tried_.size() <= index(request)) tried_.resize(index(request) + 1);
  Tried& tried = tried_[index(request)];
  if (tried.look != looks_) tried = {.look = looks_};
  return tried;
}

/// The same job is asked for many times, one after the other.
std::optional<Duration> ServedQueue::time_of(JobId job, Spot spot) {
  if (known_job_ != job) {
    known_job_ = job;
    known_times_.assign(known_times_.size(), {});
  }
  const std::size_t kind = holders_.kind(spot.gpu);
  const std::size_t place =
      kind * (PlacementSet::most + 1) + (spot.placement ? *spot.placement : PlacementSet::most);
  if (known_times_.size() <= place) known_times_.resize(place + 1);
  auto& known = known_times_[place];
  if (!known) known = holders_.time_of(job, spot);
  return *known;
}

/// What of it no running job is in the way of.
Room ServedQueue::free_room(GpuId gpu, Room room) const {
  if (room.whole && !holders_.free({gpu, std::nullopt})) room.whole = false;
  for (const PlacementId placement : room.placements)
    if (!holders_.free({gpu, placement})) room.placements.erase(placement);
  return room;
}

Room ServedQueue::left_by_reservations(const Group& group, GpuId gpu, Room room, Instant now) {
  room = free_room(gpu, room);
  for (const std::size_t i : reserved_on_.at(gpu)) {
    const Reservation& reservation = reservations_[i];
    if (room.whole && delays(group, {gpu, std::nullopt}, reservation, now)) room.whole = false;
    for (const PlacementId placement : room.placements)
      if (delays(group, {gpu, placement}, reservation, now)) room.placements.erase(placement);
  }
  return hosted(group.job, gpu, room, now);
}

bool ServedQueue::delays(const Group& group, Spot spot, const Reservation& reservation,
                         Instant now) {
  if (evictions_ && reservation.advance == nullptr &&
      evictions_->makes_room(group.job.job, reservation.job.job))
    return false;
  return meets(group, spot, reservation) &&
         !ends_before(reservation, now, time_of(group.job.job, spot));
}

bool ServedQueue::meets(const Group& group, Spot spot, const Reservation& reservation) const {
  return !owns(group, reservation) &&
         in_each_others_way(holders_.geometry(spot.gpu), spot.placement,
                            reservation.spot.placement);
}

bool ServedQueue::owns(const Group& group, const Reservation& reservation) {
  if (reservation.advance == nullptr || reservation.advance->name.empty()) return false;
  return reservation.advance->name == group.user || reservation.advance->name == group.account;
}

bool ServedQueue::owns_now(const Group& group, Instant now) const {
  return std::ranges::any_of(std::span(reservations_).first(advance_), [&](const auto& each) {
    return each.from <= now && owns(group, each);
  });
}

// Reservations.

/// The earliest time at or after `from`, when those that run have left it, at which the
/// reservations are not in its way either.
Instant ServedQueue::earliest_start(const Group& group, Spot spot, Instant from) {
  const auto reserved = reserved_on_.find(spot.gpu);
  if (reserved == reserved_on_.end()) return from;
  const Geometry& geometry = holders_.geometry(spot.gpu);
  PlacementSet in_its_way = geometry.all();
  if (spot.placement)
    in_its_way = geometry[*spot.placement].conflicts | PlacementSet::of(*spot.placement);
  std::optional<Duration> time;
  bool asked = false;
  for (const std::size_t i : reserved->second) {
    const Reservation& other = reservations_[i];
    if (from == never) break;
    if (other.end <= from || owns(group, other)) continue;
    if (other.spot.placement && !in_its_way.contains(*other.spot.placement)) continue;
    if (!std::exchange(asked, true)) time = time_of(group.job.job, spot);
    if (ends_before(other, from, time)) break;
    from = other.end;
  }
  return from;
}

std::optional<Reservation> ServedQueue::earliest(const Group& group, QueueHost& host, Instant now) {
  if (hosts_) return earliest_hosted(group, host, now);
  const Waiting job = group.job;
  std::optional<SpotRank> best;
  const auto consider = [&](const std::optional<SpotRank>& rank) {
    if (rank && (!best || *rank < *best)) best = rank;
  };
  // GPUs on which nothing is reserved: the same for all jobs with this request.
  if (index_) {
    const auto room = [&](GpuId gpu, RequestId request) { return host.room_now(gpu, request); };
    consider(index_->best(job.request, now, room,
                          [&](GpuId gpu) { return reserved_on_.contains(gpu); }));
  } else {
    for (std::size_t i = 0; i < holders_.gpus(); ++i)
      if (const auto gpu = static_cast<GpuId>(i); !reserved_on_.contains(gpu))
        consider(EarliestSpots::best_on(holders_, gpu, room_now(group, host, gpu), now));
  }
  // And the others.
  for (const auto& [gpu, reservations] : reserved_on_) {
    const Room there = room_now(group, host, gpu);
    const Geometry& geometry = holders_.geometry(gpu);
    const auto look_at = [&](Spot spot, int slices) {
      const Instant from = earliest_start(group, spot, holders_.free_from(spot, now));
      if (from == never && !may_be_kept(spot)) return;
      consider(SpotRank{from, from == never ? holders_.in_the_way(spot) : 0, slices, spot});
    };
    if (there.whole) look_at({gpu, std::nullopt}, geometry.model().memory_slices.value);
    for (const PlacementId placement : there.placements)
      look_at({gpu, placement}, geometry[placement].profile->memory.value);
  }
  if (!best) return std::nullopt;
  return Reservation{job, best->spot, best->from, later(best->from, time_of(job.job, best->spot))};
}

/// Where it is not known when a spot is free, one reservation is enough.
bool ServedQueue::may_be_kept(Spot spot) const {
  const auto reserved = reserved_on_.find(spot.gpu);
  if (reserved == reserved_on_.end()) return true;
  const Geometry& geometry = holders_.geometry(spot.gpu);
  return std::ranges::none_of(reserved->second, [&](std::size_t i) {
    const Reservation& other = reservations_[i];
    return other.end == never && in_each_others_way(geometry, spot.placement, other.spot.placement);
  });
}

bool ServedQueue::reserve(Group& group, QueueHost& host, Instant now) {
  if (together(group.job)) {
    if (!reserve_gang(group, host, now)) return false;
    ++group.reserved;
    return true;
  }
  const auto reservation = earliest(group, host, now);
  if (!reservation) return false;
  keep(*reservation, host);
  ++group.reserved;
  group.kept += slices_of(reservation->spot);
  return true;
}

void ServedQueue::keep(const Reservation& reservation, QueueHost& host) {
  auto& there = reserved_on_[reservation.spot.gpu];
  if (there.empty()) host.set_aside(reservation.spot.gpu, true);
  const auto after = std::ranges::upper_bound(there, reservation.from, {},
                                              [&](std::size_t i) { return reservations_[i].from; });
  there.insert(after, reservations_.size());
  if (hosts_) hosts_->keep(reservation);
  reservations_.push_back(reservation);
  ++kept_;
}

void ServedQueue::take_advance(QueueHost& host, Instant now, std::vector<Command>& commands) {
  for (const GpuReservation& each : rules_.advance)
    if (each.until > now && host.takes_work(each.gpu))
      keep({{}, {each.gpu, {}}, each.from, each.until, &each}, host);
  advance_ = reservations_.size();
  if (std::exchange(asked_to_wake_, true)) return;
  for (const GpuReservation& each : rules_.advance)
    for (const Instant at : {each.from, each.until})
      if (at > now) commands.emplace_back(WakeAt{at});
}

void ServedQueue::forget_reservations(QueueHost& host) {
  for (const auto& [gpu, reservations] : reserved_on_) host.set_aside(gpu, false);
  reserved_on_.clear();
  known_job_.reset();
}

/// What its user has as much of as is allowed beside such a job; empty: nothing.
std::string ServedQueue::limit_in_words(const Group& group, JobId job) const {
  const auto& [jobs, slices] = rules_.user;
  if (jobs && group.running >= *jobs)
    return fmt::format("its user has as many jobs running as the queue allows ({})", *jobs);
  if (!slices) return {};
  for (std::size_t i = 0; i < group.jobs.size(); ++i) {
    if (group.jobs[i].job != job) continue;
    if (!at_limit(group, group.jobs[i], false)) return {};
    return fmt::format("its user may hold {} compute slices, and has {}", *slices, group.held);
  }
  return {};
}

Outlook ServedQueue::outlook(JobId job) const {
  Outlook outlook;
  const auto reservation =
      std::ranges::find(reservations(), job, [](const Reservation& each) { return each.job.job; });
  if (reservation != reservations().end()) {
    const Spot& spot = reservation->spot;
    outlook.kept = {spot.gpu, spot.placement, std::nullopt};
    if (reservation->from != never) outlook.kept->from = reservation->from;
    outlook.kept->places = static_cast<std::uint32_t>(std::ranges::count(
        reservations(), job, [](const Reservation& each) { return each.job.job; }));
  }
  const Group* group = known_group_of(job);
  if (group != nullptr) outlook.user_limit = limit_in_words(*group, job);
  outlook.user_at_limit = !outlook.user_limit.empty();
  outlook.order = rules_.by_share && rules_.by_deadline ? "fair share and deadline"
                  : rules_.by_share                     ? "fair share"
                  : rules_.by_deadline                  ? "deadline"
                                                        : "";
  return outlook;
}

bool ServedQueue::reserved(GpuId gpu) const {
  return std::ranges::any_of(reservations_,
                             [&](const Reservation& each) { return each.spot.gpu == gpu; });
}

}  // namespace cleave
