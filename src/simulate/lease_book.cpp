#include "simulate/lease_book.hpp"

#include <algorithm>

namespace cleave {

namespace {

/// What is this close has come: times are kept as shares of the whole.
constexpr Duration rounding = std::chrono::microseconds{1};

}  // namespace

LeaseBook::LeaseBook(const Workload& workload) {
  if (!workload.has_kinds()) return;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    const JobDetails* details = workload.details_of(job);
    if (details == nullptr || !details->lease) continue;
    Lease lease{.job = &job, .terms = &*details->lease};
    if (lease.terms->then == LeaseTerms::Then::shrink)
      lease.changes = changes_of(*lease.terms, job.duration);
    lease.ends_at = in_seconds(held_for(*lease.terms, job.duration)) / in_seconds(job.duration);
    order_.push_back(static_cast<JobId>(i));
    leases_.emplace(order_.back(), std::move(lease));
  }
}

bool LeaseBook::knows(JobId job) const {
  return leases_.contains(job);
}

std::size_t LeaseBook::changes_until(const Lease& lease, double done) {
  const double until = in_seconds(lease.job->duration) * done + in_seconds(rounding);
  const auto next = std::ranges::find_if(
      lease.changes, [&](const LeaseChange& each) { return in_seconds(each.at) > until; });
  return static_cast<std::size_t>(next - lease.changes.begin());
}

const LeaseChange* LeaseBook::next_change(JobId id, double done) const {
  const Lease& lease = of(id);
  const std::size_t next = changes_until(lease, done);
  return next == lease.changes.size() ? nullptr : &lease.changes[next];
}

bool LeaseBook::idle_at(JobId id, double done) const {
  const Lease& lease = of(id);
  const std::size_t past = changes_until(lease, done);
  return past > 0 && lease.changes[past - 1].idle;
}

void LeaseBook::promised(JobId id, Instant from) {
  leases_.at(id).promise = from;
}

void LeaseBook::starts(JobId id, Instant now, Instant usable) {
  Lease& lease = leases_.at(id);
  if (!lease.place) lease.place = now;
  if (!lease.usable || *lease.usable > now) lease.usable = usable;
}

void LeaseBook::holds(JobId id, int slices, Instant now) {
  Lease& lease = leases_.at(id);
  if (lease.slices > 0)
    lease.given_back += (lease.most_slices - lease.slices) * in_seconds(now - lease.since);
  if (slices == 0 && lease.usable && *lease.usable > now) lease.usable.reset();
  lease.most_slices = std::max(lease.most_slices, slices);
  lease.slices = slices;
  lease.since = now;
}

void LeaseBook::ends(JobId id) {
  Lease& lease = leases_.at(id);
  lease.given_back += lease.most_slices * in_seconds(lease.job->duration) * (1 - lease.ends_at);
}

void LeaseBook::write(RunSummary& summary, Instant now) const {
  summary.leases = order_.size();
  std::vector<Duration> waits;
  std::size_t limited = 0, in_time = 0;
  double given_back = 0;
  for (const JobId id : order_) {
    const Lease& lease = of(id);
    const Instant usable = lease.usable.value_or(now);
    const Duration wait = std::max(Duration::zero(), usable - lease.job->arrival);
    waits.push_back(wait);
    given_back += lease.given_back;
    if (lease.terms->starts_within) {
      ++limited;
      in_time += lease.usable && wait <= *lease.terms->starts_within ? 1 : 0;
    }
    if (!lease.promise) continue;
    ++summary.leases_promised;
    const Duration late = std::max(Duration::zero(), lease.place.value_or(now) - *lease.promise);
    summary.lease_late_max_s = std::max(summary.lease_late_max_s, std::optional(in_seconds(late)));
  }
  summary.lease_wait = Distribution::of(waits);
  if (limited > 0)
    summary.leases_in_time = static_cast<double>(in_time) / static_cast<double>(limited);
  if (!order_.empty()) summary.lease_given_back_slice_h = given_back / 3600;
}

void LeaseBook::write(JobId id, JobOutcome& outcome) const {
  const Lease& lease = of(id);
  if (lease.usable) outcome.usable_after = *lease.usable - lease.job->arrival;
  if (lease.promise) outcome.promised_after = *lease.promise - lease.job->arrival;
}

}  // namespace cleave
