#pragma once
// Leases: what each that comes is told of its start, and what becomes of those that do no GPU work.

#include "control/loop/job_lifecycle.hpp"

namespace cleave {

/// Looks after leases.
class LeaseKeeper {
 public:
  /// All must outlive it.
  LeaseKeeper(const Clock& clock, NodeState& node, Book& book, Brain& brain,
              JobLifecycle& lifecycle)
      : clock_(clock), node_(node), book_(book), brain_(brain), lifecycle_(lifecycle) {}

  /// Notes when those that have come may expect their places. The engine has settled.
  void take_promises();
  /// Gives idle leases back, or has the engine move them, by what was counted since the last call.
  void heed_work();

 private:
  void heed_work(LiveJob& lease);
  void give_back(LiveJob& lease);

  const Clock& clock_;
  NodeState& node_;
  Book& book_;
  Brain& brain_;
  JobLifecycle& lifecycle_;
};

}  // namespace cleave
