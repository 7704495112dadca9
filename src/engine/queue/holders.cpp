#include "engine/queue/holders.hpp"

#include <algorithm>
#include <bit>

namespace cleave {

namespace {

/// How much longer than expected a job may take before its end counts as unknown.
Duration patience_with(Duration time) {
  return std::chrono::minutes(1) + time / 10;
}

}  // namespace

std::optional<Duration> Holders::time_of(JobId job, Spot spot) const {
  if (facts_ == nullptr) return std::nullopt;
  const Geometry& rules = geometry(spot.gpu);
  const Profile& profile =
      spot.placement ? *rules[*spot.placement].profile : rules.model().largest();
  const auto time = facts_->time_on(job, kind(spot.gpu),
                                    static_cast<int>(&profile - rules.model().profiles.data()));
  return time ? time : facts_->most_time(job);
}

void Holders::start(JobId job, Spot spot, Instant now) {
  if (gpu_of_.size() <= index(job)) gpu_of_.resize(index(job) + 1, nowhere);
  gpu_of_[index(job)] = static_cast<std::uint32_t>(index(spot.gpu));
  const auto time = time_of(job, spot);
  on_[index(spot.gpu)].push_back({job, spot.placement, now, time ? now + *time : never,
                                  patience_with(time.value_or(Duration{}))});
}

void Holders::takes(JobId job, Instant since, std::optional<Duration> time) {
  auto& there = on_[gpu_of_[index(job)]];
  const auto holder = std::ranges::find(there, job, &Holder::job);
  holder->since = since;
  holder->until = time ? since + *time : never;
  holder->patience = patience_with(time.value_or(Duration{}));
}

void Holders::leave(JobId job) {
  if (index(job) >= gpu_of_.size() || gpu_of_[index(job)] == nowhere) return;
  std::erase_if(on_[gpu_of_[index(job)]], [&](const Holder& each) { return each.job == job; });
  gpu_of_[index(job)] = nowhere;
}

void Holders::move(JobId job, Spot to) {
  auto& from = on_[gpu_of_[index(job)]];
  const auto found = std::ranges::find(from, job, &Holder::job);
  Holder holder = *found;
  holder.placement = to.placement;
  from.erase(found);
  on_[index(to.gpu)].push_back(holder);
  gpu_of_[index(job)] = static_cast<std::uint32_t>(index(to.gpu));
}

/// What is told of a job while it runs is newer than what was known when it started.
Instant Holders::until(const Holder& holder) const {
  const auto told = facts_ == nullptr ? std::nullopt : facts_->expected_end(holder.job);
  return told.value_or(holder.until);
}

bool Holders::free(Spot spot) const {
  const Geometry& rules = geometry(spot.gpu);
  return std::ranges::none_of(on_[index(spot.gpu)], [&](const Holder& each) {
    return in_each_others_way(rules, each.placement, spot.placement);
  });
}

Instant Holders::free_from(Spot spot, Instant now) const {
  Instant from = now;
  const Geometry& rules = geometry(spot.gpu);
  for (const Holder& each : on_[index(spot.gpu)])
    if (in_each_others_way(rules, each.placement, spot.placement))
      from = std::max(from, leaves(each, now));
  return from;
}

Instant Holders::leaves(const Holder& holder, Instant now) const {
  const Instant end = until(holder);
  const bool too_long = end < now && now - end > holder.patience;
  return too_long ? never : std::max(now, end);
}

Instant Holders::leaves(JobId job, Instant now) const {
  const auto gpu = gpu_of(job);
  if (!gpu) return never;
  const auto holder = std::ranges::find(on_[index(*gpu)], job, &Holder::job);
  return leaves(*holder, now);
}

PlacementSet Holders::held_at(GpuId gpu, Instant then, Instant now) const {
  PlacementSet held;
  for (const Holder& each : on_[index(gpu)])
    if (each.placement && leaves(each, now) > then) held.insert(*each.placement);
  return held;
}

void Holders::known_ends_on(GpuId gpu, std::vector<Instant>& ends) const {
  for (const Holder& each : on_[index(gpu)])
    if (const Instant end = until(each); end != never) ends.push_back(end);
}

void Holders::ends_on(GpuId gpu, Instant now, std::vector<Instant>& ends) const {
  for (const Holder& each : on_[index(gpu)])
    if (const Instant end = leaves(each, now); end != never) ends.push_back(end);
}

Instant Holders::next_change(GpuId gpu, Instant now) const {
  Instant next = never;
  for (const Holder& each : on_[index(gpu)]) {
    const Instant end = until(each);
    if (end == never) continue;
    const Instant given_up = end + each.patience + Duration{1};
    if (given_up > now) next = std::min(next, end > now ? end : given_up);
  }
  return next;
}

std::optional<GpuId> Holders::gpu_of(JobId job) const {
  if (index(job) >= gpu_of_.size() || gpu_of_[index(job)] == nowhere) return std::nullopt;
  return static_cast<GpuId>(gpu_of_[index(job)]);
}

std::vector<Holders::Occupant> Holders::occupants(Spot spot, Instant now) const {
  std::vector<Occupant> all;
  const Geometry& rules = geometry(spot.gpu);
  for (const Holder& each : on_[index(spot.gpu)])
    if (in_each_others_way(rules, each.placement, spot.placement))
      all.push_back({each.job, each.since, leaves(each, now), slices(each, rules)});
  return all;
}

int Holders::slices(const Holder& holder, const Geometry& rules) const {
  return holder.placement ? std::popcount(rules[*holder.placement].slices)
                          : rules.model().memory_slices.value;
}

int Holders::in_the_way(Spot spot) const {
  int sum = 0;
  const Geometry& rules = geometry(spot.gpu);
  for (const Holder& each : on_[index(spot.gpu)])
    if (in_each_others_way(rules, each.placement, spot.placement)) sum += slices(each, rules);
  return sum;
}

std::vector<int> Holders::slices_on(GpuId gpu) const {
  std::vector<int> each_of_them;
  for (const Holder& each : on_[index(gpu)]) each_of_them.push_back(slices(each, geometry(gpu)));
  return each_of_them;
}

std::uint64_t Holders::which_in_the_way(Spot spot) const {
  std::uint64_t which = 0, bit = 1;
  for (const Holder& each : on_[index(spot.gpu)]) {
    if (in_each_others_way(geometry(spot.gpu), each.placement, spot.placement)) which |= bit;
    bit <<= 1;
  }
  return which;
}

}  // namespace cleave
