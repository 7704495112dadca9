#pragma once
// Jobs of several places as they run in a simulation. Their processes begin when the last of their
// places can be used, make progress together at the pace of the slowest, and end together. A
// process that could go faster waits for the others busily: its neighbours feel it, and it draws,
// as if it did not. So its pace depends on its own GPU alone.

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "simulate/processes.hpp"
#include "simulate/run_observer.hpp"

namespace cleave {

/// A job of several places, from the start of its first process until the last has left.
struct GangRun {
  Gang gang;
  std::vector<double> paces;        // by rank: as if the others were as fast
  std::uint32_t here = 0;           // processes that have their places
  std::uint32_t weakest = 0;        // the rank that is the first to run out of memory, if any does
  Instant begins = Instant::min();  // the last of its places can be used
  /// What ended its work; the processes that are still here are to leave.
  std::optional<RunEvent::Kind> ended = {};
  std::optional<Instant> left = {};  // until then they use their places

  [[nodiscard]] double slowest() const { return *std::ranges::min_element(paces); }
};

/// The jobs of several places that run. References hold until the job's last process has left.
class GangRuns {
 public:
  explicit GangRuns(const Processes& processes) : processes_(&processes) {}

  /// Of the job of this process; null where it has no other or does not run.
  [[nodiscard]] GangRun* find(JobId process) {
    return processes_->any_gang() ? look_up(process) : nullptr;
  }
  /// The process has its place.
  GangRun& joins(JobId process);
  /// It has left its place; the run ends with the last.
  void leaves(GangRun& run);
  /// A job of which some processes have places and some have none; no time passes like this.
  [[nodiscard]] std::optional<JobId> torn() const {
    return torn_.empty() ? std::nullopt : std::optional(*torn_.begin());
  }

 private:
  [[nodiscard, gnu::noinline]] GangRun* look_up(JobId process);

  const Processes* processes_;
  std::unordered_map<JobId, GangRun> runs_;  // by job
  std::set<JobId> torn_;
};

}  // namespace cleave
