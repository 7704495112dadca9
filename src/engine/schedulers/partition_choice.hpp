#pragma once
// Which partition a waiting job is to have on each GPU model, and how long it will run there: the
// batch-aware choice of *Dyna-P*, 3.1.1, from what is known of the job.
//
// Partitions are the plain profiles that hold the job's request; a job that names a profile has
// that one. Those on which it would miss its deadline are left out, unless it would on all. Where
// the job's application and batch have been measured, the heaviest edge is chosen; else - and where
// all weights are equal - the smallest.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/scheduler.hpp"
#include "forecast/choice/batch_partition.hpp"

namespace cleave {

/// A job on one GPU model.
struct PartitionPlan {
  int profile = -1;             // index into the model; -1: it does not run on this model
  double relative = 1;          // RT: speed there over speed on the full GPU, to nine digits
  std::optional<Duration> jct;  // its whole time there, as predicted
  std::optional<Instant>
      until;  // when it starts later, it misses its deadline; empty where it does anyway
};

/// How partitions are weighed, and how wrong predicted times are.
struct PartitionOptions {
  PartitionWeighing<double> weighing;
  double time_error = 0;  // predicted time = true time * (1 + error * u), u uniform in [-1, 1]
  std::uint64_t seed = 1;
};

/// Gives each job its partition on every GPU model of a fleet.
class PartitionChooser {
 public:
  PartitionChooser(const SchedulerSetup& setup, const PartitionOptions& options);

  /// One plan for each GPU model, by its place among the fleet's.
  [[nodiscard]] std::vector<PartitionPlan> plan(JobId job, RequestId request, Instant now) const;
  /// The job's whole time on this profile; nullopt where it is unknown.
  [[nodiscard]] std::optional<Duration> predicted(JobId job, std::size_t kind, int profile) const;

 private:
  [[nodiscard]] PartitionPlan plan_on(std::size_t kind, JobId job, const ResolvedRequest& request,
                                      std::optional<Duration> left, Instant now) const;
  [[nodiscard]] int choose(std::size_t kind, JobId job, const std::vector<int>& profiles) const;

  SchedulerSetup setup_;
  PartitionOptions options_;
  std::vector<ProfileRows<double>> rows_;  // by kind
};

}  // namespace cleave
