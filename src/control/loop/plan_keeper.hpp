#pragma once
// Carries a plan out: wave by wave, each move by what its job allows, with every step judged by the
// node as it is (verdicts/plan_verdicts.hpp). The engine places around it: GPUs of the plan take no
// other work until it has ended, and jobs that it moves are not moved by the scheduler.
//
// What a plan has come to is written with the changes that got it there, so that a loop which
// begins goes on with it. It ends at its goal, or stops: no move begins any more, what is on its
// way arrives or waits in the queue again, and then the GPUs are the scheduler's.

#include <string>

#include "control/loop/job_lifecycle.hpp"
#include "control/settings.hpp"
#include "control/verdicts/plan_verdicts.hpp"

namespace cleave {

/// Keeps the plan in the node going.
class PlanKeeper {
 public:
  /// All must outlive it.
  PlanKeeper(const Clock& clock, const ControlSettings& settings, NodeState& node, Book& book,
             Brain& brain, JobLifecycle& lifecycle)
      : clock_(clock),
        settings_(settings),
        node_(node),
        book_(book),
        brain_(brain),
        lifecycle_(lifecycle) {}

  // Each is as control.hpp says.

  [[nodiscard]] Result<std::int64_t> begin(const PlanOrder& order, const std::string& by);
  [[nodiscard]] Result<void> change(std::int64_t number, PlanChange change, const std::string& by);
  /// The policy of compaction begins a plan, so that a job has room.
  [[nodiscard]] Result<std::int64_t> begin_for(const PlanOrder& order, const PlanPurpose& purpose);
  /// Whether an operator's plan is about to begin.
  [[nodiscard]] bool is_asked() const { return asked_ != 0; }
  [[nodiscard]] LiveFleet fleet() const { return live_fleet_of(node_, rules()); }

  /// One that an earlier daemon left; its jobs are in the node by now.
  void recall(const LivePlan& plan);
  /// Judges every move that is due, and has done what can be. Whether one was settled, or the plan
  /// has ended: then there may be more to do.
  bool step();

 private:
  [[nodiscard]] MigRules rules() const;
  [[nodiscard]] Result<LivePlan> ordered(const PlanOrder& order, const std::string& by,
                                         const std::optional<PlanPurpose>& purpose);
  [[nodiscard]] EventRecord beginning_of(const LivePlan& plan, Duration within);
  [[nodiscard]] bool is_served(const PlanPurpose& purpose) const;
  bool watch_room();
  void enter(LivePlan plan);
  void enter_change(std::int64_t number, PlanChange change, const std::string& by);
  void watch_time();
  void stop(PlanState as, const std::string& why);
  void judge(PlannedMove& move);
  void take(PlannedMove& move, const MoveVerdict& verdict);
  void settle(PlannedMove& move, MovePhase state, const std::string& why = {});
  void withdraw(PlannedMove& move);
  void let_go(JobNumber number);
  void end();

  const Clock& clock_;
  const ControlSettings& settings_;
  NodeState& node_;
  Book& book_;
  Brain& brain_;
  JobLifecycle& lifecycle_;
  std::int64_t asked_ = 0;  // a plan that is being written: no other may begin
};

}  // namespace cleave
