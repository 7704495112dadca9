#include "engine/queue/host_times.hpp"

#include <algorithm>

namespace cleave {

namespace {

void lower(HostAmount& least, const HostAmount& other) {
  least.millicpus = std::min(least.millicpus, other.millicpus);
  least.memory = std::min(least.memory, other.memory);
}

/// Whether so much is no less than what is wanted of what the node limits.
bool enough(const HostNode& node, const HostAmount& left, const HostAmount& wanted) {
  return (!node.has.millicpus || left.millicpus >= wanted.millicpus) &&
         (!node.has.memory || left.memory >= wanted.memory);
}

}  // namespace

void HostTimes::keep(const Reservation& reservation) {
  if (reservation.advance != nullptr) return;
  const bool known = reservation.from != never;
  kept_.push_back({room_->node(reservation.spot.gpu),
                   room_->amount(reservation.job.request, reservation.spot),
                   known ? reservation.from : Instant::min(), known ? reservation.end : never});
  ++kept_version_;
}

HostTimes::Outlook& HostTimes::outlook(std::uint32_t node, Instant now) const {
  if (outlooks_.size() <= node) outlooks_.resize(node + 1);
  Outlook& known = outlooks_[node];
  const std::pair version{room_->version(), kept_version_};
  if (known.version == version && known.now == now) return known;
  known = {version, now, room_->left(node), {}, {}};
  for (const JobId job : room_->jobs_on(node)) {
    const Instant leaves = holders_->leaves(job, now);
    if (leaves != never) known.changes.push_back({leaves, room_->has(job)});
  }
  for (const Kept& kept : kept_) {
    if (kept.node != node) continue;
    known.changes.push_back({kept.from, {-kept.amount.millicpus, MiB{-kept.amount.memory.value}}});
    if (kept.end != never) known.changes.push_back({kept.end, kept.amount});
  }
  std::ranges::stable_sort(known.changes, {}, &Change::at);
  return known;
}

HostAmount HostTimes::least(const Outlook& known, Instant from, std::optional<Duration> time) {
  HostAmount left = known.left;
  auto change = known.changes.begin();
  const auto end = known.changes.end();
  for (; change != end && change->at <= from; ++change) left += change->amount;
  HostAmount least = left;
  const Instant until = later(from, time);
  while (change != end && change->at < until) {
    for (const Instant at = change->at; change != end && change->at == at; ++change)
      left += change->amount;
    lower(least, left);
  }
  return least;
}

HostAmount HostTimes::least_left(std::uint32_t node, Instant from, std::optional<Duration> time,
                                 Instant now) const {
  Outlook& known = outlook(node, now);
  if (from != now) return least(known, from, time);
  for (const auto& [asked, answer] : known.least_from_now)
    if (asked == time) return answer;
  const HostAmount answer = least(known, from, time);
  known.least_from_now.emplace_back(time, answer);
  return answer;
}

bool HostTimes::takes(RequestId request, Spot spot, std::optional<Duration> time, Instant now,
                      std::optional<JobId> own) const {
  if (!room_->takes(request, spot, own)) return false;
  if (kept_.empty()) return true;
  const std::uint32_t node = room_->node(spot.gpu);
  HostAmount left = least_left(node, now, time, now);
  if (own && holders_->gpu_of(*own) && room_->node(*holders_->gpu_of(*own)) == node)
    left += room_->has(*own);
  return enough(room_->host(node), left, room_->amount(request, spot));
}

Instant HostTimes::earliest(std::uint32_t node, const HostAmount& amount, Instant from,
                            std::optional<Duration> time, Instant now) const {
  if (from == never) return never;
  const HostNode& host = room_->host(node);
  const Outlook& known = outlook(node, now);
  const auto holds_from = [&](Instant at) { return enough(host, least(known, at, time), amount); };
  if (holds_from(from)) return from;
  for (const Change& change : known.changes)
    if (change.at > from && holds_from(change.at)) return change.at;
  return never;
}

}  // namespace cleave
