#pragma once
// Where the processes of gangs run. To a scheduler each process is a job of its own with a place of
// its own; that they begin and end together is the engine's matter, which goes by this.

#include <map>
#include <optional>
#include <vector>

#include "engine/job_facts.hpp"
#include "model/event.hpp"

namespace cleave {

/// The gangs that run, in whole or in part.
class RunningGangs {
 public:
  /// A process and its place; without a placement the whole GPU.
  struct Process {
    JobId job{};
    GpuId gpu{};
    std::optional<PlacementId> placement;
  };

  [[nodiscard]] bool empty() const { return running_.empty(); }
  [[nodiscard]] bool runs(JobId leader) const {
    return !running_.empty() && running_.contains(leader);
  }
  void started(const Gang& gang, const Process& process);
  /// The gang runs no more. Answers what it had.
  std::vector<Process> take(JobId leader);

  /// The leaders of those that have a process on the GPU, and on this instance of it or, without a
  /// placement, on all of it.
  [[nodiscard]] std::vector<JobId> on(GpuId gpu) const;
  [[nodiscard]] std::vector<JobId> on(GpuId gpu, std::optional<PlacementId> placement) const;
  /// The leaders of those of which not every process is known to run.
  [[nodiscard]] std::vector<JobId> incomplete() const;

 private:
  struct Running {
    std::uint32_t size = 0;
    std::vector<Process> processes;
  };
  template <class There>
  [[nodiscard]] std::vector<JobId> leaders(const There& there) const;

  std::map<JobId, Running> running_;  // by leader
};

}  // namespace cleave
