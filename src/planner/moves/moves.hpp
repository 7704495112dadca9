#pragma once
// From the present layout to a goal, without interrupting any work: which instances are created,
// which workloads started and drained, and which instances destroyed, in waves. *Optimal Workload
// Placement on Multi-Instance GPUs* leaves this as future work (section 7).
//
// A workload moves by replica first, then drain (2.1): its new instance is made and its replica
// started while the old one still serves, and only then is the old one drained. So a new instance
// needs slices that are free when the wave begins; slices that are freed in the same wave do not
// count. Waves follow one another. Inside a wave everything may happen at once, except that the
// steps of one move keep their order.
//
// A placement in use becomes free one wave after its workload left. If workloads wait for each
// other in a circle, or in a chain longer than the number of waves allows, one of them goes to a
// temporary placement first.

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "planner/problem.hpp"

namespace cleave {

/// What one step of a plan does.
enum class Op { destroy, create, start, drain, stop };
std::string_view name(Op op);

/// One operation on one instance or workload.
struct Step {
  Op op = Op::destroy;
  Seat seat;                      // the instance
  WorkloadIndex workload = none;  // of start, drain and stop; of create: the workload it is for
  friend bool operator==(const Step&, const Step&) = default;
};

/// In an order in which each step is legal: first instances are destroyed to make room, then
/// instances are created, workloads started, old ones drained or stopped, and the instances they
/// leave destroyed unless they are used again.
using Wave = std::vector<Step>;

/// Where everything has to be, and which instances are idle in the end.
struct Target {
  Goal goal;
  std::vector<PlacementSet> idle;  // of each GPU
};
/// The goal of a plan, with those of the present idle instances that it leaves room for.
Target target_of(const PlanProblem& problem, const Goal& goal);

/// A workload that cannot get to its goal without an interruption, and why.
struct Disruption {
  WorkloadIndex workload;
  std::string reason;
};

/// What the moves may do.
struct MoveOptions {
  /// Whether work may be stopped before its new instance is there, if nothing else helps.
  bool allow_disruptive = false;
};

/// How to get from the present layout to a target.
struct Moves {
  std::vector<Wave> waves;
  std::int64_t waves_bound = 0;        // no order that leads to the same end has fewer
  std::vector<Disruption> disruptive;  // what cannot be reached undisturbed; done only if allowed
  std::size_t temporary = 0;           // moves to a temporary placement
  Target reached;                      // where the waves end
};

/// The target must be without flaw for the problem. Running workloads without a seat in it are
/// stopped.
Moves plan_moves(const PlanProblem& problem, const Target& target, const MoveOptions& options);

/// Why the waves cannot be carried out one step after the other on the fleet of the problem. Empty:
/// they can, and end in `reached`.
[[nodiscard]] std::string fault(const PlanProblem& problem, const Moves& moves);

/// What one wave costs: time on the GPUs whose instances change, time and MiB on the links. GPUs
/// and links work at the same time, so each time is that of the slowest.
struct WaveCost {
  Duration make_room{}, create{}, transfer{}, clean_up{};
  std::int64_t moved_mib = 0, between_nodes_mib = 0;
  [[nodiscard]] Duration time() const { return make_room + create + transfer + clean_up; }
};

std::vector<WaveCost> cost_of(const PlanProblem& problem, const std::vector<Wave>& waves);

}  // namespace cleave
