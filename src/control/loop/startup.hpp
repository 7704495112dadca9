#pragma once
// What a loop finds when it begins: the store's jobs, the attempts that their supervisors kept
// running, the outcomes of those that ended meanwhile. The GPUs' instances follow with the first
// observation of each.

#include <set>
#include <vector>

#include "control/loop/process_listener.hpp"

namespace cleave {

/// Fills the node from the store and the runner. Used once.
class Startup {
 public:
  /// All must outlive it. `rebooted`: the machine was started again since the store was written.
  Startup(NodeState& node, Book& book, JobLifecycle& lifecycle, ProcessListener& processes,
          bool rebooted)
      : node_(node),
        book_(book),
        lifecycle_(lifecycle),
        processes_(processes),
        rebooted_(rebooted) {}

  /// The node has its GPUs and knows which are drained.
  void take(StoreContents contents, const std::vector<FoundJob>& found);

 private:
  void take_instances(const std::vector<InstanceRecord>& instances);
  void take_attempts(std::vector<AttemptRecord> attempts);
  [[nodiscard]] LiveJob* take_final_job(JobNumber number);
  void keep_one_attempt(LiveJob& job);
  void take_found(const FoundJob& found);
  void take_unknown(const FoundJob& found);
  [[nodiscard]] bool take_unwritten_attempt(LiveJob& job, const FoundJob& found);
  void take_alive(LiveJob& job, const FoundJob& found);
  void take_ended(LiveJob& job, const FoundJob& found);
  void settle_held(LiveJob& job);
  std::vector<JobNumber> settle_unfound(const std::set<JobKey>& found);
  void start_at_once(const std::vector<JobNumber>& unstarted);

  NodeState& node_;
  Book& book_;
  JobLifecycle& lifecycle_;
  ProcessListener& processes_;
  bool rebooted_;
};

}  // namespace cleave
