#pragma once
// What the loop believes about GPUs, judged: whether one takes work, which steps of it can be taken
// now, what an observation changes, which instances are idle, when the loop has to wake. Pure
// functions of the node.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "control/node/node_state.hpp"

namespace cleave {

/// What MIG mode has to be.
struct MigRules {
  bool may_switch = true;         // the daemon may change it
  bool wants_whole_gpus = false;  // the scheduler puts jobs on GPUs with MIG off
};

/// Whether its MIG mode is as the scheduler needs it, or may be switched. It must have been
/// observed.
[[nodiscard]] bool mig_fits(const ManagedGpu& gpu, const MigRules& rules);

/// Whether the scheduler may use it. One that is lost counts as usable, and so does one that rests
/// after a refusal: the engine knows of both.
[[nodiscard]] bool takes_work(const ManagedGpu& gpu, const MigRules& rules);

/// Whether an engine can be made: every GPU has been observed, and what was begun on it is done, as
/// far as its driver answers.
[[nodiscard]] bool can_make_engine(const std::vector<ManagedGpu>& gpus);

/// What a step has to wait for, as far as MIG mode goes.
enum class MigAnswer : std::uint8_t { right, wait, switch_first };
[[nodiscard]] MigAnswer mig_for(const ManagedGpu& gpu, GpuStep::Kind step, bool may_switch);

/// Whether the host has room for all that these start, beside the processes that are on the node,
/// those that are about to leave too.
[[nodiscard]] bool host_has_room(const NodeState& node, std::span<const PlacedStep> starts);
/// Whether a step of a GPU can be taken now. Steps wait for one another only where they must: a
/// create for the destroys in front of it, a start for its instance and for those that leave it.
[[nodiscard]] bool is_ready(const NodeState& node, GpuId gpu, std::size_t step);

/// Whether the step would give an idle instance, as it is, to the job of another user than had it
/// last.
[[nodiscard]] bool crosses_users(const NodeState& node, GpuId gpu, std::size_t step);

/// Instances of ours that no job has used for `keep`.
[[nodiscard]] std::vector<PlacementId> idle_instances(const NodeState& node, GpuId gpu,
                                                      Duration now, Duration keep);

/// Whether the job, which waits, may have this idle instance as it is.
[[nodiscard]] bool may_be_given(const NodeState& node, const LiveJob& job, const JobPlace& place,
                                bool across_users);

/// Those that wait and may have it as it is, the first first; where the order is kept, none that
/// has to wait for another.
[[nodiscard]] std::vector<JobNumber> takers_of(const NodeState& node, const JobPlace& place,
                                               bool across_users, bool in_order);

/// How an observation differs from what was believed. Places that an operation is changing are left
/// out: its answer will tell.
struct InstanceChanges {
  PlacementSet walls;                 // all instances that are not ours
  std::vector<PlacementId> found;     // ours, and not known before
  std::vector<PlacementId> vanished;  // ours, known and no longer there
};
[[nodiscard]] InstanceChanges changes_of(const ManagedGpu& gpu, const GpuObservation& observation);

/// Whether a failed process can be judged: its GPU was observed since, or will not be.
[[nodiscard]] bool is_settled(const PendingVerdict& pending, const ManagedGpu& gpu, Duration now);

/// What a wake depends on besides the node.
struct WakeRules {
  Duration gpu_patience{};
  std::optional<Duration> keep_idle;
  bool store_writes = true;  // GPUs are looked at only while it does
};
/// When something is due next for the node alone, on the steady clock; Duration::max(): never.
[[nodiscard]] Duration next_wake(const NodeState& node, Duration now, const WakeRules& rules);

/// Whether there are services or leases.
[[nodiscard]] bool has_kinds(const NodeState& node);

/// Whether the job belongs into the queue: all of its processes wait.
[[nodiscard]] bool belongs_into_queue(const NodeState& node, const LiveJob& job);

/// Jobs that wait, in the order in which the engine has them, or is to hear of them: by priority,
/// then those that it knows in the order in which they came to it, then the others by number. A job
/// that was tried and waits again has come later.
[[nodiscard]] std::vector<JobNumber> queue_of(const NodeState& node);

}  // namespace cleave
