#pragma once
// A loop with jobs on fragmented GPUs, and plans for them from what the loop shows.

#include "loop_stand.hpp"
#include "planner/planned_moves.hpp"
#include "planner/planner.hpp"

namespace cleave::trial {

/// How a job of these tests may be moved; `restart`: only because it may be restarted, and saves
/// when it is signalled; `command`: saved and brought back by commands.
enum class Allows { nothing, replica, checkpoint, restart, command };

class PlanStand : public Loop {
 protected:
  explicit PlanStand(const std::vector<std::string>& gpus) : Loop(gpus) {}

  static NewJob sized_job(std::string profile, Allows allows) {
    NewJob wanted = sized(std::move(profile));
    wanted.spec.movable = allows == Allows::replica;
    if (allows == Allows::checkpoint) wanted.spec.progress = Keeps::checkpoint;
    wanted.spec.restartable = allows == Allows::restart;
    if (allows == Allows::restart) {
      wanted.spec.checkpoint_signal = 10;
      wanted.spec.checkpoint_grace = 2s;
    }
    if (allows == Allows::command) {
      wanted.spec.progress = Keeps::checkpoint;
      wanted.spec.checkpoint_command = "save";
      wanted.spec.restore_command = "restore";
      wanted.spec.checkpoint_grace = 2s;
    }
    return wanted;
  }
  JobNumber submit_long(std::string profile, Allows allows) {
    return submit(sized_job(std::move(profile), allows), 1000h);
  }

  /// Leaves an instance of the profile on each of two GPUs, in `kept`, that were full of them.
  void fragment(Allows allows, const std::string& profile = "3g.20gb", int fill = 2) {
    std::vector<JobNumber> all;
    for (int i = 0; i < 2 * fill; ++i) all.push_back(submit_long(profile, allows));
    run(20s);
    std::map<std::string, std::vector<JobNumber>> on;
    for (const JobNumber each : all) on[place(each).value().gpu].push_back(each);
    for (const auto& [gpu, there] : on) {
      kept.push_back(there.front());
      for (std::size_t i = 1; i < there.size(); ++i)
        control->cancel(there[i], "its user", moment());
    }
    run(20s);
    ASSERT_EQ(kept.size(), 2U);
  }

  /// What `cleave plan compact --live` finds.
  Result<PlanOrder> compaction(const std::string& method = "optimal") const {
    const LiveFleet live = control->live_fleet();
    auto problem = PlanProblem::make(live.fleet, ProblemKind::compact, "the daemon");
    if (!problem) return std::unexpected(problem.error());
    PlanOptions options;
    options.method = method;
    const auto plan = make_plan(*problem, options);
    if (!plan) return std::unexpected(plan.error());
    auto moves = planned_moves(*problem, plan->moves, live.uuids);
    if (!moves) return std::unexpected(moves.error());
    return PlanOrder{.kind = "compact", .within = 1h, .moves = std::move(*moves)};
  }
  [[nodiscard]] LivePlan latest_plan() const { return store->plans(INT64_MAX, 1).value().at(0); }
  [[nodiscard]] std::string state_of_plan() const {
    const LivePlan plan = latest_plan();
    return std::string(plan_state_names[static_cast<std::size_t>(plan.state)]) +
           (plan.why.empty() ? "" : ": " + plan.why);
  }
  /// "GPU-...: 3g.20gb@4" of the attempt that runs.
  [[nodiscard]] std::optional<PlannedPlace> place(JobNumber number) const {
    const AttemptRecord* attempt = control->attempt_of(number);
    if (attempt == nullptr || !attempt->began || attempt->end) return std::nullopt;
    return PlannedPlace{attempt->gpu, attempt->profile, attempt->start};
  }

  std::vector<JobNumber> kept;
};

}  // namespace cleave::trial
