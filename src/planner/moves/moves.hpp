#pragma once
// From the layout that is to the layout that should be, in an order that disturbs nobody: which
// instances are created, which workloads started and drained, and what is destroyed, in waves. What
// *Optimal Workload Placement on Multi-Instance GPUs* leaves as future work (section 7).
//
// A workload moves by replica first, then drain (2.1): its new instance is made and its replica
// started while the old one still serves, and only then is the old one drained. So a new instance
// needs slices that nobody uses when the wave begins, those that leave in the same wave included.
// Waves follow one another; inside a wave everything may happen at once, but for the steps of one
// move, which stand in their order.
//
// A place that is in use now is free one wave after its workload left. Where workloads wait for
// each other in a circle, or in a chain longer than the waves there are to be, one of them goes to
// a temporary place first.

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "planner/problem.hpp"

namespace cleave {

enum class Op { destroy, create, start, drain, stop };
std::string_view name(Op op);

struct Step {
  Op op = Op::destroy;
  Seat seat;                      // the instance
  WorkloadIndex workload = none;  // whose, for start, drain and stop; of create: who it is for
  friend bool operator==(const Step&, const Step&) = default;
};

/// In an order in which each step is legal: what makes room is destroyed, then instances are
/// created, workloads started, old ones drained or stopped, and the instances they leave destroyed
/// unless somebody will use them.
using Wave = std::vector<Step>;

/// Where everything is to be, and which idle instances are to be there in the end.
struct Target {
  Goal goal;
  std::vector<PlacementSet> idle;  // of each GPU
};
/// The goal of a plan, with the idle instances of now that it leaves room for.
Target target_of(const PlanProblem& problem, const Goal& goal);

struct Disruption {
  WorkloadIndex workload;
  std::string reason;
};

struct MoveOptions {
  /// Whether work may be stopped before its new place is there, where nothing else helps.
  bool allow_disruptive = false;
};

struct Moves {
  std::vector<Wave> waves;
  std::int64_t waves_bound = 0;        // no way to the same end has fewer
  std::vector<Disruption> disruptive;  // what cannot be reached undisturbed; done only when allowed
  std::size_t temporary = 0;           // moves to a place that is not the last
  Target reached;                      // where the waves end
};

/// The target must be without flaw for the problem. Workloads that run and have no seat in it are
/// stopped.
Moves plan_moves(const PlanProblem& problem, const Target& target, const MoveOptions& options);

/// Why the waves cannot be carried out one step after the other on the fleet of the problem; empty:
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
