#pragma once
// Jobs of a workload that wait for others of it: the engine does not hear of them before these have
// ended as they must, as in the daemon.

#include <cstdint>
#include <optional>
#include <vector>

#include "model/start_order.hpp"

namespace cleave {

/// Those of one run.
class AwaitingJobs {
 public:
  explicit AwaitingJobs(const Workload& workload);

  /// Whether any job waits for another.
  [[nodiscard]] bool counts() const { return !order_.awaited.empty(); }
  /// The job has arrived. False: it waits here, until next() tells of it.
  [[nodiscard]] bool comes(std::uint32_t job);
  /// The job has ended for good.
  void ended(std::uint32_t job, bool well);

  /// A job that waits here no more.
  struct Freed {
    std::uint32_t job = 0;
    bool may_start = false;  // or what it waits for cannot come any more
  };
  [[nodiscard]] bool any_freed() const { return told_ < freed_.size(); }
  /// The next one, where there are any.
  [[nodiscard]] Freed next() { return freed_[told_++]; }

 private:
  /// What it waits for, or what waits for it.
  struct Tie {
    std::uint32_t other = 0;
    Dependency::On on = Dependency::On::ok;
  };
  /// Of a job.
  struct Standing {
    std::uint32_t unmet = 0;  // groups
    bool here = false, missed = false;
  };
  void free(std::uint32_t job);

  JobsOrder order_;
  std::vector<Standing> standing_;                     // by job
  std::vector<std::vector<std::uint32_t>> groups_of_;  // by job, of those that are awaited
  std::vector<std::vector<Tie>> waiting_;              // by group: jobs
  std::vector<std::size_t> left_;                      // by group: jobs that have not ended
  std::vector<Freed> freed_;
  std::size_t told_ = 0;  // of these
};

}  // namespace cleave
