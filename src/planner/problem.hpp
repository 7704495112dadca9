#pragma once
// A planning problem: the present fleet, which of its work may move, which work is new, and what
// must be respected. Built once from a fleet file; every method of planning reads it and none
// changes it. The problems are those of *Optimal Workload Placement on Multi-Instance GPUs*, 2.3
// and 4.1.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/state_graph.hpp"
#include "model/fleet_file.hpp"
#include "model/ids.hpp"
#include "placement/request_table.hpp"

namespace cleave {

/// Which work a plan may place or move.
enum class ProblemKind {
  deploy,       // new work is placed; running work stays
  compact,      // running work is moved so that GPUs become empty
  reconfigure,  // running work is placed again, on free GPUs first
  joint,        // new work is placed, and running work may move for it
};
std::string_view name(ProblemKind kind);

/// A placement on a GPU.
struct Seat {
  GpuId gpu{};
  PlacementId placement = 0;
  friend bool operator==(Seat, Seat) = default;
};

/// A workload as an index into PlanProblem::workloads.
using WorkloadIndex = std::uint32_t;

inline constexpr std::uint32_t none = 0xffffffff;

/// One piece of work, running or new.
struct PlanWorkload {
  std::string_view name;
  RequestId request{};        // which placements satisfy it
  std::optional<Seat> now;    // where it runs; empty: it is new
  bool stays = false;         // it runs and must stay exactly where it is
  std::uint32_t rule = none;  // index into PlanProblem::rules; none: it may be anywhere
  /// What a move transfers: its memory if the file says it, else its instance's.
  std::int64_t moved_mib = 0;
};

/// Where a workload may be. GPUs and nodes are numbers.
struct PlanRule {
  std::uint32_t pin_gpu = none, pin_node = none;
  std::vector<std::uint32_t> forbidden_gpus, forbidden_nodes;  // sorted
  std::uint32_t group = none;                                  // index into PlanProblem::groups
  friend auto operator<=>(const PlanRule&, const PlanRule&) = default;
};

/// No two members of a group may share a GPU, or a node.
struct PlanGroup {
  std::string name;
  bool over_nodes = false;
  std::optional<int> max_moving;  // most in motion at once: the smallest value of its members
};

/// One GPU, without the work of the problem.
struct PlanGpu {
  std::string_view name;
  std::uint16_t kind = 0;  // index into PlanProblem::graphs
  std::uint32_t node = 0;
  /// Instances that must stay and belong to no workload of the problem: those that are not ours,
  /// and those without a known workload that are not movable. They take room and are never reused.
  PlacementSet walls;
  /// Our instances without work: may be reused unchanged, or destroyed.
  PlacementSet idle;
};

/// What a plan may not exceed.
struct PlanLimits {
  /// Workloads that leave their place: moved within a GPU, to another, or stopped.
  std::optional<std::int64_t> migrations;
  std::optional<std::int64_t> moved_mib;  // the sum of their PlanWorkload::moved_mib
};

/// The whole problem, with its requests resolved and its names as numbers.
class PlanProblem {
 public:
  /// `file` must outlive the problem. `place` names it in errors. Fails on constraints that refer
  /// to unknown names, on requests that nothing in the fleet can ever satisfy, and on work that
  /// must stay where it may not be.
  [[nodiscard]] static Result<PlanProblem> make(const FleetFile& file, ProblemKind kind,
                                                const std::string& place);

  ProblemKind kind = ProblemKind::deploy;
  std::string place;  // the fleet file, for errors
  /// Whether running work may end up pending if that leaves less pending in all. Off: running work
  /// keeps running. (The paper's model allows it, *Optimal Workload Placement* 4.1, constraint 2e.)
  bool may_evict = false;
  /// Reconfiguring by a baseline: running work holds its slices until its replica runs (*Optimal
  /// Workload Placement* 2.3.3), so all GPUs are taken as they stand. Off: free GPUs come first,
  /// then those in use as if emptied (reading O11).
  bool beside_running = false;
  PlanLimits limits;

  std::vector<std::shared_ptr<const StateGraph>> graphs;  // one for each model
  std::vector<PlanGpu> gpus;
  std::vector<std::string_view> nodes;
  /// Running ones by GPU and start, then the new ones in the order of the file.
  std::vector<PlanWorkload> workloads;
  std::vector<ResolvedRequest> requests;
  std::vector<PlanRule> rules;
  std::vector<PlanGroup> groups;

  [[nodiscard]] const StateGraph& graph(GpuId gpu) const { return *graphs[gpus[index(gpu)].kind]; }
  [[nodiscard]] const Geometry& geometry(GpuId gpu) const { return graph(gpu).geometry(); }
  [[nodiscard]] const Placement& placement(Seat seat) const {
    return geometry(seat.gpu)[seat.placement];
  }
  /// Placements on GPUs of this model that satisfy the workload's request, wherever it may be.
  [[nodiscard]] PlacementSet wanted(WorkloadIndex workload, std::size_t gpu_kind) const {
    return requests[index(workloads[workload].request)].candidates[gpu_kind];
  }
  /// Adds the profile of this placement to those that satisfy the workload, because a given goal
  /// uses it.
  void also_wants(WorkloadIndex workload, std::size_t gpu_kind, PlacementId placement);
  /// Whether pins and forbidden GPUs allow it there; groups depend on where the other members are.
  [[nodiscard]] bool allows(WorkloadIndex workload, GpuId gpu) const;
  /// Its size while it waits: memory slices of its smallest possible instance.
  [[nodiscard]] MemorySlices size(WorkloadIndex workload) const;

  /// Workloads that run on a GPU, by start.
  [[nodiscard]] const std::vector<WorkloadIndex>& running_on(GpuId gpu) const {
    return running_[index(gpu)];
  }
  /// What members of the group must not share: the GPU or its node, as a number.
  [[nodiscard]] std::uint32_t domain(std::uint32_t group, GpuId gpu) const {
    return groups[group].over_nodes ? gpus[index(gpu)].node
                                    : static_cast<std::uint32_t>(index(gpu));
  }

 private:
  friend class ProblemBuilder;
  std::vector<std::vector<WorkloadIndex>> running_;
  std::vector<MemorySlices> sizes_;  // of each request
};

/// The place of everything: a seat for each workload; none: pending.
using Goal = std::vector<std::optional<Seat>>;

/// The present state, with new work pending.
Goal goal_of_now(const PlanProblem& problem);

/// What a plan does with one workload.
enum class Action { stay, place, migrate, move_within };
std::string_view name(Action action);
/// What becomes of a workload that has a seat in the goal.
Action action_of(const PlanWorkload& workload, Seat seat);

/// The first running workload without a seat.
std::optional<WorkloadIndex> evicted(const PlanProblem& problem, const Goal& goal);

/// Where the goal breaks a law of the GPU model or a constraint of the problem, in words. Empty: it
/// does not. Every plan is checked by this before it is returned.
[[nodiscard]] std::string flaw(const PlanProblem& problem, const Goal& goal);

}  // namespace cleave
