#pragma once
// `online`: the scheduler of *An Online Fragmentation-Aware Scheduler for Managing GPU-Sharing
// Workloads on Multi-Instance GPUs*, section IV.
//
// Arrival (IV-C). A job goes where the policy says, on an idle instance or on one made for it; what
// fits nowhere queues, first come first served, and a new arrival never overtakes the queue
// (reading F9). A job that ends leaves its instance idle for reuse; idle instances are destroyed
// only when a new one needs their place (F15).
//
// Departure (IV-D). When a job has left a GPU - it ended, ran out of memory, or was stopped early -
// jobs move as placement/rebalance.hpp says: within the GPU when it is still busy, from busy GPUs
// when it is lazy. Only then is the queue served, in order, until its head does not fit (F10). Work
// that the fleet's file shows, and jobs that are not known to be movable, stay where they are. A
// GPU that is lost or returns moves nothing.
//
// The paper's scheduler is the defaults. Options switch its parts off, for its ablation (V-E), or
// take the other reading where the paper is open. Migration goes by the fragmentation cost whatever
// the policy is; `threshold` and `load` are about it too. With dynamic=off no instance is made or
// destroyed, but for those of a GPU that returns, which are made as they stood at the beginning;
// what no instance will ever hold is rejected.
//
// A job that is adopted is load, and moves like any other where it is known to be movable; with
// dynamic=off its instance is one of those that stand.

#include "engine/scheduler.hpp"

namespace cleave {

std::span<const OptionRow> online_options();
Result<std::unique_ptr<Scheduler>> make_online(const SchedulerSetup& setup,
                                               const OptionTexts& options);

}  // namespace cleave
