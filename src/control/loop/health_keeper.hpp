#pragma once
// The health of GPUs: what news of them say is judged by verdicts/health_verdicts.hpp, and done
// here. Jobs are blamed on their GPU, stopped, or taken for the cause; instances are quarantined
// and GPUs drained until what the table of health says.

#include <string>

#include "control/book/book.hpp"
#include "control/clock.hpp"
#include "control/loop/job_lifecycle.hpp"
#include "control/verdicts/health_verdicts.hpp"

namespace cleave {

/// Keeps the conditions of GPUs, and writes each change of them.
class HealthKeeper {
 public:
  /// All must outlive it.
  HealthKeeper(const Clock& clock, NodeState& node, Book& book, JobLifecycle& lifecycle)
      : clock_(clock), node_(node), book_(book), lifecycle_(lifecycle) {}

  /// What earlier daemons left; the GPUs are not observed yet. `rebooted`: the machine was started
  /// again since.
  void recall(const StoredSettings& stored, bool rebooted);
  /// News of a GPU, before they become part of the node.
  void hear(GpuId gpu, const GpuNews& news);
  /// The GPU was lost, and is there again.
  void returned(GpuId gpu);
  /// The instance with this MIG UUID is gone.
  void gone(GpuId gpu, const std::string& device);
  /// An operator takes the GPU back.
  void accept(GpuId gpu);

 private:
  void apply(GpuId gpu, const HealthFinding& finding);
  void follow_states(GpuId gpu, const GpuHealth& health);
  void follow_state(GpuId gpu, HealthSign sign, const HealthFact* fact);
  void follow_requests(GpuId gpu, const GpuHealth& health);
  void take(GpuId gpu, const GpuObservation& observation);
  /// Attempts at the place, or on the whole GPU.
  [[nodiscard]] std::vector<JobKey> attempts_at(GpuId gpu, std::optional<PlacementId> at) const;
  /// The job of all these attempts; null: none, or several.
  [[nodiscard]] LiveJob* only_job(const std::vector<JobKey>& attempts);
  void note_fault(LiveJob& job, const std::string& gpu, bool grave);
  void blame(const std::vector<JobKey>& attempts, const std::string& why, bool of_job);
  void stop(const std::vector<JobKey>& attempts, const std::string& why);
  void add(GpuId gpu, GpuCondition condition);
  /// Takes away those of which this is true, and says why.
  template <class Which>
  void remove(GpuId gpu, Which which, const std::string& why);
  void write(GpuId gpu);
  void event(GpuId gpu, std::string kind, std::string text, const LiveJob* job = nullptr);

  const Clock& clock_;
  NodeState& node_;
  Book& book_;
  JobLifecycle& lifecycle_;
};

}  // namespace cleave
