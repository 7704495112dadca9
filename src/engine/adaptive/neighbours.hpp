#pragma once
// What jobs on one GPU take from each other, with an instance each: the link to the host is one for
// all of them, and so is the power that the board may draw (physics/contention.hpp). As far as it
// is known what they ask of both.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/adaptive/job_ledger.hpp"
#include "engine/scheduler.hpp"
#include "engine/seats.hpp"

namespace cleave {

/// Tells crowded GPUs from quiet ones.
class Neighbours {
 public:
  /// All must outlive it.
  Neighbours(const SchedulerSetup& setup, const Seats& seats, const JobLedger& ledger);

  /// A job has come, with what is known of its speeds in the ledger.
  void met(JobId job);
  /// Whether it makes a difference for this job who else runs on the GPU.
  [[nodiscard]] bool matter_to(JobId job, GpuId gpu) const;
  /// Of the pace that the job has alone on an instance of this profile, what is left beside all
  /// others on the GPU, less for what they lose by it: its own share, divided by one and the sum of
  /// the shares that each of them loses. In (0, 1].
  [[nodiscard]] double left_of_pace(JobId job, GpuId gpu, int profile) const;

 private:
  [[nodiscard]] bool presses(JobId job) const {
    return index(job) < presses_.size() && presses_[index(job)] != 0;
  }

  const JobFacts* facts_;
  const Seats& seats_;
  const JobLedger& ledger_;
  std::size_t kinds_;
  bool matter_ = false;                // any job may; else every pace is what it is alone
  std::vector<std::uint8_t> presses_;  // by job: it may take something from others
};

}  // namespace cleave
