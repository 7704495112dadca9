#pragma once
// Begins plans by itself, where the settings allow it, so that a job that waits gets room. The
// decision is the simulator's too (planner/compaction_policy.hpp); PlanKeeper carries plans out.

#include <map>
#include <optional>
#include <set>
#include <span>

#include "control/loop/plan_keeper.hpp"
#include "control/verdicts/compaction_verdicts.hpp"

namespace cleave {

/// Looks now and then whether to move jobs for one that waits.
class CompactionKeeper {
 public:
  /// All must outlive it.
  CompactionKeeper(const Clock& clock, const ControlSettings& settings, const NodeState& node,
                   const Brain& brain, PlanKeeper& plans)
      : clock_(clock), settings_(settings), node_(node), brain_(brain), plans_(plans) {}

  /// What earlier daemons moved, newest plan first.
  void recall(std::span<const LivePlan> plans);
  /// Where a look is due and the engine has decided all that it can. Whether a plan was begun.
  bool step();
  /// When step() has something to do next, on the steady clock.
  [[nodiscard]] Duration next() const;

 private:
  void note(const LivePlan& plan);
  [[nodiscard]] bool may_look() const;
  [[nodiscard]] std::vector<CompactionWaiting> waiting(const LiveFleet& live, bool in_order);
  [[nodiscard]] std::optional<CompactionWaiting> waiting_for_room(const LiveJob& job,
                                                                  const LiveFleet& live) const;
  [[nodiscard]] std::set<GpuId> reserved() const;

  const Clock& clock_;
  const ControlSettings& settings_;
  const NodeState& node_;
  const Brain& brain_;
  PlanKeeper& plans_;
  MoveHistory history_;
  std::int64_t noted_ = 0;              // the latest plan that is in it
  std::map<JobNumber, Instant> since_;  // jobs that wait again after they ran
  std::optional<CompactionRules> by_;   // the rules of the last look
  Instant look_at_ = Instant::min();    // wall clock
};

}  // namespace cleave
