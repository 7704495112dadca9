#pragma once
// Which partition a waiting job is to have on each GPU model, and how long it will run there: the
// batch-aware choice of *Dyna-P*, 3.1.1, from what is known of the job.
//
// Partitions are the plain profiles that hold the job's request and for which some GPU has room
// beside what never leaves it; a job that names a profile has that one. Those on which it would
// miss its deadline are left out, unless it would on all: a late job is served like one without a
// deadline. The heaviest edge is chosen; where all weights are equal, or nothing is known of the
// job, the smallest.
//
// Weights are the paper's (`own`, `full`, forecast/choice/batch_partition.hpp) or `priced`:
//
//   lambda * (1 - l) + (1 - lambda) * (1 / l - 1) - price * s * l
//
// where l is the job's time on the partition over its time on the whole GPU, s the partition's
// share of the slices, and the price the number of other jobs that wait for each GPU meanwhile. The
// first two terms are Equation 2 relative to the same job on the whole GPU. The third is what
// others lose: s * l is the GPU time that the job takes from them, and every one of them waits for
// it. An idle fleet gives whole GPUs; a crowded one gives what costs least slice time.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/scheduler.hpp"
#include "forecast/choice/batch_partition.hpp"

namespace cleave {

/// A job on one GPU model.
struct PartitionPlan {
  int profile = -1;             // index into the model; -1: none was made, or it does not run there
  double relative = 1;          // RT: speed there over speed on the full GPU, to nine digits
  std::optional<Duration> jct;  // its whole time there, as predicted
  std::optional<Instant>
      until;  // when it starts later, it misses its deadline; empty where it does anyway
};

/// Who else wants slices.
struct SliceDemand {
  double waiting = 0;         // jobs that wait; below zero: GPUs that are empty beyond those
  double arrivals_per_s = 0;  // as of late
  double gpus = 1;

  /// The price of slices that are held for so long: each GPU's part of the jobs that wait, and of
  /// those that will come, for half of the time on average.
  [[nodiscard]] double price(double held_s) const {
    const double jobs = waiting + arrivals_per_s * held_s / 2;
    return jobs > 0 ? jobs / gpus : 0;
  }
};

/// How partitions are weighed, and how wrong predicted times are.
struct PartitionOptions {
  PartitionWeighing<double> weighing;
  bool priced = false;    // else as `weighing.base` has it
  double time_error = 0;  // predicted time = true time * (1 + error * u), u uniform in [-1, 1]
  std::uint64_t seed = 1;
};

/// Gives each job its partition on every GPU model of a fleet.
class PartitionChooser {
 public:
  PartitionChooser(const SchedulerSetup& setup, const PartitionOptions& options);

  /// The placements for which some GPU of this model has room, now or later. All, until told.
  void has_room_for(std::size_t kind, PlacementSet placements) { room_[kind] = placements; }

  /// Whether the job runs on this GPU model at all.
  [[nodiscard]] bool runs_on(std::size_t kind, RequestId request) const;
  /// The partitions that it may have there: in time, if there are any, small ones first.
  [[nodiscard]] std::vector<int> partitions(std::size_t kind, JobId job, RequestId request,
                                            Instant now) const;
  /// The plan with one of these, which must not be empty.
  [[nodiscard]] PartitionPlan plan_among(std::size_t kind, JobId job,
                                         const std::vector<int>& partitions, Instant now,
                                         const SliceDemand& demand) const;
  /// The plan with the best of all; the job must run there.
  [[nodiscard]] PartitionPlan plan(std::size_t kind, JobId job, RequestId request, Instant now,
                                   const SliceDemand& demand) const {
    return plan_among(kind, job, partitions(kind, job, request, now), now, demand);
  }
  /// The job's whole time on this profile; nullopt where it is unknown.
  [[nodiscard]] std::optional<Duration> predicted(JobId job, std::size_t kind, int profile) const;

 private:
  [[nodiscard]] const GpuModel& model(std::size_t kind) const {
    return setup_.fleet.graphs()[kind]->geometry().model();
  }
  [[nodiscard]] std::optional<Duration> left(JobId job, Instant now) const;
  [[nodiscard]] bool in_time(JobId job, std::size_t kind, int profile,
                             std::optional<Duration> left) const;
  [[nodiscard]] int choose(std::size_t kind, JobId job, const std::vector<int>& profiles) const;
  [[nodiscard]] int choose_priced(std::size_t kind, JobId job, const std::vector<int>& profiles,
                                  const SliceDemand& demand) const;
  [[nodiscard]] std::optional<std::vector<double>> times(std::size_t kind, JobId job,
                                                         const std::vector<int>& profiles) const;

  SchedulerSetup setup_;
  PartitionOptions options_;
  std::vector<ProfileRows<double>> rows_;  // by kind
  std::vector<PlacementSet> room_;         // by kind
};

}  // namespace cleave
