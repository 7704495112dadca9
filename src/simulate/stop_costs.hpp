#pragma once
// What it takes to save a job, to restore it, and to start a replica of it elsewhere: a time that
// is the same for all, or by what the job holds (physics/copy_time.hpp).

#include "model/job.hpp"
#include "simulate/job_run.hpp"
#include "simulate/memory_truth.hpp"
#include "simulate/stop_terms.hpp"
#include "simulate/world.hpp"

namespace cleave {

/// The costs of the jobs of one workload in one world. Both must outlive it.
class StopCosts {
 public:
  StopCosts(const StopTerms& terms, const Workload& workload, const MemoryTruth& memory,
            const World& world)
      : terms_(terms), workload_(&workload), memory_(&memory), world_(&world) {}

  /// Of a job of which this share is done, at the place of `run`.
  [[nodiscard]] Duration write(JobId job, const JobRun& run, double done) const {
    return terms_.by_memory ? copy(job, run, done) : terms_.checkpoint / 2;
  }
  [[nodiscard]] Duration restore(JobId job, const JobRun& run, double done) const {
    return write(job, run, done);
  }
  /// Until a replica that has started at the place of `run` can take over.
  [[nodiscard]] Duration load(JobId job, const JobRun& run) const {
    return terms_.by_memory ? copy(job, run, run.done) : Duration::zero();
  }
  [[nodiscard]] bool by_memory() const { return terms_.by_memory.has_value(); }

 private:
  [[nodiscard]] Duration copy(JobId job, const JobRun& run, double done) const;
  [[nodiscard]] MiB held(JobId job, const JobRun& run, double done) const;

  StopTerms terms_;
  const Workload* workload_;
  const MemoryTruth* memory_;
  const World* world_;
};

}  // namespace cleave
