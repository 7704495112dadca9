#include "engine/queue/evictions.hpp"

namespace cleave {

Evictions::Evictions(const SchedulerSetup& setup, std::uint32_t most)
    : facts_(setup.facts), checkpoint_(setup.checkpoint), most_(most), gangs_(setup.gangs) {}

/// A process of several is not stopped by itself.
bool Evictions::makes_room(JobId job, JobId other) const {
  if (most_ == 0 || facts_->kind(job) != JobKind::batch || !facts_->restartable(job)) return false;
  if (facts_->priority(job) > facts_->priority(other)) return false;
  if (gangs_ && facts_->gang(job).size > 1) return false;
  const auto known = stopped_.find(job);
  return known == stopped_.end() || known->second < most_;
}

Duration Evictions::loses(const Holders::Occupant& of, std::size_t kind, Instant now) const {
  if (facts_->saves(of.job)) return facts_->checkpoint_time(of.job, kind).value_or(checkpoint_);
  return now - of.since;
}

Command Evictions::stop(JobId job) {
  ++stopped_[job];
  if (facts_->saves(job)) return CheckpointJob{job};
  return StopJob{job, StopJob::Why::room};
}

}  // namespace cleave
