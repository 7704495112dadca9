#pragma once
// Keeps a run's books: what became of each job, how long it waited and ran, how much memory was
// resident. The run summary is written from here and from Measure.

#include <optional>
#include <vector>

#include "model/run_summary.hpp"
#include "simulate/memory_truth.hpp"

namespace cleave {

/// What became of each job of a run.
class Account {
 public:
  Account(const Workload& workload, const MemoryTruth& memory)
      : workload_(&workload), memory_(&memory) {
    outcomes_.resize(workload.jobs.size());
  }

  /// A process of the job ran for `time`, over that part of its work, and could hold `most`.
  void ran(std::size_t job, Duration time, double from_share, double to_share,
           std::optional<MiB> most);
  void finished(std::size_t job, Instant now);
  void failed(std::size_t job);
  /// One of these comes soon.
  void expect(std::size_t job) const { __builtin_prefetch(&outcomes_[job], 1); }
  void rejected(std::size_t job, std::string_view reason);

  /// Everything that is known of jobs alone. `usable_mib` is what programs could use on the whole
  /// fleet.
  void write(RunSummary& summary, std::optional<double> usable_mib);
  [[nodiscard]] const std::vector<JobOutcome>& outcomes() const { return outcomes_; }
  [[nodiscard]] bool open(std::size_t job) const {
    return outcomes_[job].end == JobOutcome::End::waiting;
  }

 private:
  [[nodiscard]] bool late(std::size_t job) const;

  const Workload* workload_;
  const MemoryTruth* memory_;
  std::vector<JobOutcome> outcomes_;
  std::vector<ReasonCount> rejections_;
  double resident_mib_seconds_ = 0;
  bool resident_known_ = true;
};

}  // namespace cleave
