#pragma once
// Which running batches make room for services and leases, and how often each has done so: a batch
// that was stopped as often as the rules allow runs to its end.

#include <cstdint>
#include <unordered_map>

#include "engine/job_facts.hpp"
#include "engine/queue/holders.hpp"
#include "engine/scheduler.hpp"

namespace cleave {

/// The batches of one queue.
class Evictions {
 public:
  /// `setup` must have facts. No batch is stopped more than `most` times.
  Evictions(const SchedulerSetup& setup, std::uint32_t most);

  /// Whether others make room for the job.
  [[nodiscard]] bool takes_room(JobId job) const { return facts_->kind(job) != JobKind::batch; }
  /// Whether this job, which runs or might, makes room for `other`, which is no batch.
  [[nodiscard]] bool makes_room(JobId job, JobId other) const;
  /// What a stop would cost it: the time of its work that is lost, and of its checkpoint.
  [[nodiscard]] Duration loses(const Holders::Occupant& of, std::size_t kind, Instant now) const;
  /// It is stopped.
  [[nodiscard]] Command stop(JobId job);

 private:
  const JobFacts* facts_;
  Duration checkpoint_;
  std::uint32_t most_;
  bool gangs_;
  std::unordered_map<JobId, std::uint32_t> stopped_;  // how often; only looked up
};

}  // namespace cleave
