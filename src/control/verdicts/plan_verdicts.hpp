#pragma once
// What the next thing is that a plan may do, judged by the node as it is and not by the plan: which
// jobs may be moved and how, whether a move is done or can begin, and the steps it takes. Pure
// functions; loop/plan_keeper.hpp carries them out.

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/node/node_state.hpp"
#include "control/requests.hpp"
#include "control/verdicts/gpu_verdicts.hpp"

namespace cleave {

/// What a job that runs allows. Jobs of several places and leases stay, and so does what would lose
/// its work.
[[nodiscard]] MoveWay way_of(const JobRecord& job);
/// The same, but for a lease that saves its work and has been without GPU work for idle_enough: no
/// person is disturbed.
[[nodiscard]] MoveWay way_of(const LiveJob& job);
inline constexpr Duration idle_enough = std::chrono::minutes(5);
/// From the order to end until the process is gone, at most; zero where a replica takes over.
[[nodiscard]] Duration time_to_save(const JobRecord& job);

/// From the order to start until its program runs, as this attempt took.
[[nodiscard]] Duration time_to_start(const AttemptRecord& attempt);
/// Of one that has not shown how long that is.
inline constexpr Duration usual_start = std::chrono::seconds(10);

/// The GPUs that take work, with what is on them, for a planner: jobs that may move are workloads,
/// everything else that is not an idle instance of ours is a wall. With the jobs that wait.
[[nodiscard]] LiveFleet live_fleet_of(const NodeState& node, const MigRules& rules);

/// The plan that an order begins, as far as it can be carried out: GPUs as UUIDs, the GPUs that it
/// empties. Fails where a job is not where the order has it, does not allow the move, or is moved
/// twice in a wave; or where a place is not one of its GPU.
[[nodiscard]] Result<LivePlan> plan_of(const NodeState& node, const PlanOrder& order,
                                       const MigRules& rules);

/// What is next for a move.
struct MoveVerdict {
  enum class Kind : std::uint8_t {
    wait,  // something it needs is under way
    go,    // these steps, on the GPU that it goes to
    done,
    over,     // its job has ended
    leave,    // it cannot be made any more, for `why`; others may
    blocked,  // its place is not to be had, for `why`: the plan does not hold any more
  };
  Kind kind = Kind::wait;
  std::string why;
  GpuId gpu{};
  std::vector<GpuStep> steps;
};
[[nodiscard]] MoveVerdict judge_move(const NodeState& node, const PlannedMove& move,
                                     const MigRules& rules);

/// Whether nothing of a move that has begun need be finished: its job runs where it was, and no
/// other process of it.
[[nodiscard]] bool may_be_withdrawn(const NodeState& node, const PlannedMove& move);

/// The wave that is to be made: the first with a move that is not settled; empty: there is none.
[[nodiscard]] std::optional<std::int64_t> wave_of(const LivePlan& plan);

/// Of the GPUs that the plan was to empty, how many have no job.
[[nodiscard]] std::int64_t freed_by(const NodeState& node, const LivePlan& plan);

}  // namespace cleave
