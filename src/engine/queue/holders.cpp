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
  return facts_->time_on(job, kind(spot.gpu),
                         static_cast<int>(&profile - rules.model().profiles.data()));
}

void Holders::start(JobId job, Spot spot, Instant now) {
  if (gpu_of_.size() <= index(job)) gpu_of_.resize(index(job) + 1, nowhere);
  gpu_of_[index(job)] = static_cast<std::uint32_t>(index(spot.gpu));
  const auto time = time_of(job, spot);
  on_[index(spot.gpu)].push_back(
      {job, spot.placement, time ? now + *time : never, patience_with(time.value_or(Duration{}))});
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
    if (in_each_others_way(rules, each.placement, spot.placement)) {
      const Instant end = until(each);
      const bool too_long = end < now && now - end > each.patience;
      from = too_long ? never : std::max(from, end);
    }
  return from;
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

int Holders::in_the_way(Spot spot) const {
  int slices = 0;
  const Geometry& rules = geometry(spot.gpu);
  for (const Holder& each : on_[index(spot.gpu)]) {
    if (!in_each_others_way(rules, each.placement, spot.placement)) continue;
    slices += each.placement ? std::popcount(rules[*each.placement].slices)
                             : rules.model().memory_slices.value;
  }
  return slices;
}

}  // namespace cleave
