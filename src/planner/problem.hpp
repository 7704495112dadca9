#pragma once
// A planning problem: a fleet as it stands, which of its work may move, which work is new, and what
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

enum class ProblemKind {
  deploy,       // new work is placed; what runs stays
  compact,      // what runs is moved so that GPUs fall empty
  reconfigure,  // what runs is laid out anew, onto free GPUs first
  joint,        // new work is placed and what runs may move for it
};
std::string_view name(ProblemKind kind);
[[nodiscard]] Result<ProblemKind> parse_problem_kind(std::string_view text);

/// A placement on a GPU.
struct Seat {
  GpuId gpu{};
  PlacementId placement = 0;
  friend bool operator==(Seat, Seat) = default;
};

/// A workload by its place in PlanProblem::workloads.
using WorkloadIndex = std::uint32_t;

inline constexpr std::uint32_t none = 0xffffffff;

struct PlanWorkload {
  std::string_view name;
  RequestId request{};        // which placements satisfy it
  std::optional<Seat> now;    // where it runs; empty: it is new
  bool stays = false;         // it runs and must stay exactly where it is
  std::uint32_t rule = none;  // index into PlanProblem::rules; none: it may be anywhere
  std::int64_t moved_mib =
      0;  // what a move carries: its memory where the file says it, else its instance's
};

/// Where a workload may be. GPUs and nodes are numbers.
struct PlanRule {
  std::uint32_t pin_gpu = none, pin_node = none;
  std::vector<std::uint32_t> forbidden_gpus, forbidden_nodes;  // sorted
  std::uint32_t group = none;                                  // index into PlanProblem::groups
  friend auto operator<=>(const PlanRule&, const PlanRule&) = default;
};

/// No two of a group may share a GPU, or a node.
struct PlanGroup {
  std::string name;
  bool over_nodes = false;
  std::optional<int> max_moving;  // at most so many in motion at once: the least that a member says
};

struct PlanGpu {
  std::string_view name;
  std::uint16_t kind = 0;  // index into PlanProblem::graphs
  std::uint32_t node = 0;
  /// Instances that must stay and are no workload's of the problem: somebody else's, and those
  /// without a known workload that are not movable. They take room and are never reused.
  PlacementSet walls;
  /// Instances of ours without work: may be reused as they are, or destroyed.
  PlacementSet idle;
};

/// What a plan may not exceed.
struct PlanLimits {
  std::optional<std::int64_t>
      migrations;  // workloads that leave their place: moved within a GPU, to another, or stopped
  std::optional<std::int64_t> moved_mib;  // the sum of their PlanWorkload::moved_mib
};

class PlanProblem {
 public:
  /// `file` must outlive the problem. `place` names it in errors. Fails on constraints that name
  /// nothing, on requests that nothing in the fleet can ever satisfy, and on work that must stay
  /// where it may not be.
  [[nodiscard]] static Result<PlanProblem> make(const FleetFile& file, ProblemKind kind,
                                                const std::string& place);

  ProblemKind kind = ProblemKind::deploy;
  std::string place;  // what errors name: the fleet file
  /// Whether work that runs may end up pending when that leaves less pending in all. Off: what runs
  /// keeps running. (The paper's model allows it, *Optimal Workload Placement* 4.1, constraint 2e.)
  bool may_evict = false;
  PlanLimits limits;

  std::vector<std::shared_ptr<const StateGraph>> graphs;  // one for each model
  std::vector<PlanGpu> gpus;
  std::vector<std::string_view> nodes;
  std::vector<PlanWorkload>
      workloads;  // those that run, by GPU and start, then the new ones as written
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
  /// From now on the profile of this placement satisfies the workload too: somebody has chosen it
  /// for it.
  void also_wants(WorkloadIndex workload, std::size_t gpu_kind, PlacementId placement);
  /// Whether pins and forbidden GPUs let it be there; groups are a matter of where the others are.
  [[nodiscard]] bool allows(WorkloadIndex workload, GpuId gpu) const;
  /// What it takes while it waits: memory slices of its smallest possible instance.
  [[nodiscard]] MemorySlices size(WorkloadIndex workload) const;

  /// Workloads that run on a GPU, by start.
  [[nodiscard]] const std::vector<WorkloadIndex>& running_on(GpuId gpu) const {
    return running_[index(gpu)];
  }
  /// What members of the group must not share of this GPU: the GPU or its node, as a number.
  [[nodiscard]] std::uint32_t domain(std::uint32_t group, GpuId gpu) const {
    return groups[group].over_nodes ? gpus[index(gpu)].node
                                    : static_cast<std::uint32_t>(index(gpu));
  }

 private:
  friend class ProblemBuilder;
  std::vector<std::vector<WorkloadIndex>> running_;
  std::vector<MemorySlices> sizes_;  // of each request
};

/// Where everything is to be: a seat for each workload; none: pending.
using Goal = std::vector<std::optional<Seat>>;

/// Everything as it is now, new work pending.
Goal goal_of_now(const PlanProblem& problem);

enum class Action { stay, place, migrate, move_within };
std::string_view name(Action action);
/// What becomes of a workload that has a seat in the goal.
Action action_of(const PlanWorkload& workload, Seat seat);

/// The first running workload without a seat.
std::optional<WorkloadIndex> evicted(const PlanProblem& problem, const Goal& goal);

/// Where the goal breaks a law of the GPU model or a constraint of the problem, in words; empty: it
/// does not. Every plan is checked by this before anybody sees it.
[[nodiscard]] std::string flaw(const PlanProblem& problem, const Goal& goal);

}  // namespace cleave
