#pragma once
// What the policy of compaction (planner/compaction_policy.hpp) decides by on a live node, and its
// plan as an order. Pure functions; loop/compaction_keeper.hpp asks them.

#include <set>

#include "control/moment.hpp"
#include "control/node/node_state.hpp"
#include "control/requests.hpp"
#include "planner/compaction_policy.hpp"

namespace cleave {

/// The fleet as the policy sees it, without GPUs that are reserved; who waits is not in it. `live`
/// is of the node (verdicts/plan_verdicts.hpp) and must outlive the answer.
struct SeenFleet {
  CompactionScene scene;
  std::vector<std::size_t> gpus;  // of the scene's: their place in `live`
};
[[nodiscard]] SeenFleet seen_fleet(const NodeState& node, const LiveFleet& live,
                                   const std::set<GpuId>& reserved, Moment now);

/// How long the job is interrupted by a move, and how long a move takes, as far as is known: it
/// saves its work for as long as it may, and starts as it did the last time.
struct MoveTimes {
  Duration interrupted{}, takes{};
};
[[nodiscard]] MoveTimes move_times(const LiveJob& job, MoveWay way);

/// The order that makes the room.
[[nodiscard]] PlanOrder order_of(const CompactionPlan& plan, const SeenFleet& seen,
                                 const LiveFleet& live);

}  // namespace cleave
