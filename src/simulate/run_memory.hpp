#pragma once
// What memory the processes of a simulation have where they run, and when they run out of it.

#include <optional>
#include <unordered_map>

#include "placement/request_table.hpp"
#include "simulate/job_run.hpp"
#include "simulate/memory_truth.hpp"
#include "simulate/processes.hpp"
#include "simulate/rates.hpp"
#include "simulate/world.hpp"

namespace cleave {

/// The memory of the processes of one run. All must outlive it.
class RunMemory {
 public:
  RunMemory(const Workload& workload, const Processes& processes, const MemoryTruth& truth,
            const World& world, const Rates& rates)
      : workload_(&workload),
        processes_(&processes),
        truth_(&truth),
        world_(&world),
        rates_(&rates) {}

  /// The process begins on an instance that it shares with those that are there.
  void share(JobId process, const JobRun& run, const JobRuns& runs) {
    left_by_others_[process] = left_by_others(run, runs);
  }
  /// What the process could use where it runs; nullopt where it is unknown.
  [[nodiscard]] std::optional<MiB> capacity(JobId process, const JobRun& run) const;
  /// What a process that runs out of memory is said to have had; its job asked for this.
  [[nodiscard]] std::optional<MiB> had(JobId process, const JobRun& run,
                                       const ResolvedRequest& asked) const;
  /// The share of its job's work at which the process runs out of memory there; by itself it has
  /// this speed.
  [[nodiscard]] double dies_at(JobId process, const JobRun& run, double speed) const;

 private:
  [[nodiscard]] const Geometry& geometry(const JobRun& run) const {
    return world_->graph((*world_)[run.gpu]).geometry();
  }
  [[nodiscard]] std::optional<MiB> left_by_others(const JobRun& run, const JobRuns& runs) const;
  [[nodiscard]] std::optional<MiB> had_beside_others(JobId process, const JobRun& run,
                                                     const ResolvedRequest& asked) const;

  const Workload* workload_;
  const Processes* processes_;
  const MemoryTruth* truth_;
  const World* world_;
  const Rates* rates_;
  /// What processes on shared instances could use when they began.
  std::unordered_map<JobId, std::optional<MiB>> left_by_others_;
};

}  // namespace cleave
