#include "simulate/service_watch.hpp"

#include <algorithm>

namespace cleave {

ServiceWatch::ServiceWatch(const Workload& workload) : workload_(&workload) {
  if (workload.services.empty()) return;
  watched_.resize(workload.services.size());
  for (const Job& job : workload.jobs) {
    const JobDetails* details = workload.details_of(job);
    if (details == nullptr || !details->service) continue;
    const ServiceTerms& terms = workload.services[*details->service];
    Watched& service = watched_[*details->service];
    service.terms = &terms;
    service.arrival = service.since = job.arrival;
    if (terms.runs_for) service.end = job.arrival + *terms.runs_for;
  }
}

ServiceWatch::Watched& ServiceWatch::of(JobId replica) {
  return watched_[*workload_->details_of(workload_->jobs[index(replica)])->service];
}

void ServiceWatch::serves(JobId replica, double speed, Instant from, Instant now) {
  stops(replica, now);
  Watched& service = of(replica);
  service.replicas.push_back({replica, service.terms->served_per_s * speed, std::max(now, from)});
}

void ServiceWatch::stops(JobId replica, Instant now) {
  Watched& service = of(replica);
  advance(service, now);
  std::erase_if(service.replicas, [&](const Replica& each) { return each.job == replica; });
}

/// The first moment after `since`, not after `to`, at which the load or the replicas are others.
Instant ServiceWatch::next_change(const Watched& service, Instant to) {
  Instant next = to;
  const auto at = [&](Instant change) {
    if (change > service.since) next = std::min(next, change);
  };
  for (const ServiceTerms::Step& step : service.terms->load) at(service.arrival + step.from);
  for (const Replica& each : service.replicas) at(each.from);
  return next;
}

/// Nothing changes from `since` until then.
void ServiceWatch::count(Watched& service, Instant to) {
  double served = 0;
  std::size_t replicas = 0;
  for (const Replica& each : service.replicas) {
    if (each.from > service.since || !(each.served > 0)) continue;
    served += each.served;
    ++replicas;
  }
  const double asked = load_at(*service.terms, service.since - service.arrival);
  const Duration time = to - service.since;
  if (on_target(*service.terms, asked, served, replicas)) {
    service.on_target += time;
    service.off = {};
  } else {
    service.off += time;
    service.longest_off = std::max(service.longest_off, service.off);
  }
  service.since = to;
}

void ServiceWatch::advance(Watched& service, Instant to) {
  if (service.end) to = std::min(to, *service.end);
  while (service.since < to) count(service, next_change(service, to));
}

void ServiceWatch::end(Instant then) {
  for (Watched& service : watched_) {
    if (!service.end) service.end = std::max(then, service.arrival);
    advance(service, *service.end);
  }
}

std::vector<ServiceSummary> ServiceWatch::summaries() const {
  std::vector<ServiceSummary> all;
  for (const Watched& each : watched_)
    all.push_back({each.terms->id, each.terms->replicas, each.since - each.arrival, each.on_target,
                   each.longest_off});
  return all;
}

}  // namespace cleave
