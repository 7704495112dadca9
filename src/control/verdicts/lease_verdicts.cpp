#include "control/verdicts/lease_verdicts.hpp"

#include "placement/request_table.hpp"

namespace cleave {

namespace {

/// The attempt that runs where the engine has the lease; null where there is none, or another.
const LiveAttempt* settled_lease(const LiveJob& lease) {
  if (!lease.main || lease.attempts.size() != 1 || is_final(lease.record.state)) return nullptr;
  const LiveAttempt& attempt = lease.attempts.at(*lease.main);
  const bool runs = attempt.record.began && !attempt.record.end && attempt.placed;
  return runs && lease.place == attempt.place ? &attempt : nullptr;
}

/// Whether it is on a smaller instance than it asks for.
bool is_shrunk(const NodeState& node, const LiveJob& lease, const JobPlace& place) {
  if (!place.placement) return false;
  const Geometry& geometry = node.gpu(place.gpu).geometry();
  return !resolve(lease.record.request, {geometry}).holds.front().contains(*place.placement);
}

}  // namespace

LeaseVerdict judge_lease(const NodeState& node, const LiveJob& lease, Duration now) {
  const LeaseTerms& terms = *lease.record.spec.lease;
  const LiveAttempt* attempt = settled_lease(lease);
  if (attempt == nullptr || !terms.idle_after) return LeaseVerdict::stays;
  const bool shrinks = terms.then == LeaseTerms::Then::shrink;
  if (attempt->idle.works() && shrinks && is_shrunk(node, lease, attempt->place))
    return LeaseVerdict::grows;
  const auto since = attempt->idle.since();
  if (!since || now - *since < *terms.idle_after) return LeaseVerdict::stays;
  return shrinks ? LeaseVerdict::shrinks : LeaseVerdict::is_given_back;
}

MiB held_when_idle(const JobSpec& spec) {
  if (spec.lease->idle_memory) return *spec.lease->idle_memory;
  const auto* size = std::get_if<BySize>(&spec.request.wanted);
  return size == nullptr ? MiB{} : size->memory;
}

}  // namespace cleave
