#include "model/service_terms.hpp"

#include <algorithm>

namespace cleave {

double load_at(const ServiceTerms& service, Duration at) {
  const auto after = std::ranges::upper_bound(service.load, at, {}, &ServiceTerms::Step::from);
  return after == service.load.begin() ? 0 : std::prev(after)->requests_per_s;
}

bool on_target(const ServiceTerms& service, double asked, double served, std::size_t replicas) {
  if (!service.load.empty() && asked == 0) return true;  // there is nothing to be late with
  if (!(served > 0) || served < asked) return false;
  if (!service.latency) return true;
  return served > asked &&
         static_cast<double>(replicas) / (served - asked) <= in_seconds(*service.latency);
}

std::vector<LeaseChange> changes_of(const LeaseTerms& lease, Duration stay) {
  std::vector<LeaseChange> changes;
  if (!lease.idle_after) return changes;
  Duration since{};  // without work
  const auto until = [&](Duration works) {
    if (since + *lease.idle_after >= std::min(works, stay)) return;
    changes.push_back({since + *lease.idle_after, true});
    if (works < stay) changes.push_back({works, false});
  };
  for (const LeaseTerms::Span& span : lease.active) {
    until(span.from);
    since = span.to;
  }
  until(stay);
  return changes;
}

Duration held_for(const LeaseTerms& lease, Duration stay) {
  const auto changes = changes_of(lease, stay);
  return lease.then == LeaseTerms::Then::give_back && !changes.empty() ? changes.front().at : stay;
}

}  // namespace cleave
