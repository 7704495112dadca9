#pragma once
// Plans: a problem and a method in, a checked goal with its figures out.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "planner/metrics.hpp"
#include "planner/moves/moves.hpp"
#include "planner/problem.hpp"

namespace cleave {

/// All objectives at once with a price for each, instead of one after the other (the p_w, q_g and
/// gammas of *Optimal Workload Placement*, 4.1).
struct PlanWeights {
  std::int64_t pending = 0, gpus = 0, waste = 0, migration = 0, repartition = 0;  // thousandths
};

/// How to plan.
struct PlanOptions {
  std::string method = "optimal";  // or one of heuristics()
  /// For the optimal method. When the time is up, the best goal so far is the plan, with its
  /// bounds.
  std::chrono::milliseconds time_limit{60'000};
  std::optional<PlanWeights> weights;
  /// Work may be stopped before its new place is ready, if the goal cannot be reached otherwise.
  bool allow_disruptive = false;
  /// Only goals that can be reached without interruptions. The plan is then optimal only if the
  /// best goal is one of them.
  bool non_disruptive_only = false;
};

/// Whether the plan is proven the best, or only possible; infeasible: there is none.
enum class PlanStatus { optimal, feasible, infeasible };
std::string_view name(PlanStatus status);

/// One objective: the value of the goal, the bound that no goal can beat (given the objectives
/// before it), and the proof.
struct Objective {
  std::string_view name;
  std::int64_t value = 0;
  std::int64_t bound = 0;
  std::string proof;
};

/// A workload that the goal leaves without a seat, and why.
struct Pending {
  WorkloadIndex workload;
  std::string reason;
};

/// A checked goal with its figures and the moves that lead to it.
struct Plan {
  std::string method;
  PlanStatus status = PlanStatus::infeasible;
  std::optional<PlanWeights> weights;
  /// One after the other; with weights only their sum, in thousandths.
  std::vector<Objective> objective;
  std::vector<std::int64_t> values;  // of objective_names(), in either mode
  Goal goal;
  std::vector<Pending> pending;
  PlanMetrics now, then;
  Moves moves;                   // how to get there
  std::int64_t future_room = 0;  // maximal layouts that can still be reached, over all GPUs
};

/// A plan to a given goal. It makes no claim about how good the goal is.
[[nodiscard]] Result<Plan> plan_to(const PlanProblem& problem, const Target& target,
                                   const MoveOptions& options);

/// "optimal" and the heuristics.
std::vector<std::string> plan_methods();

/// Maximal layouts that can still be reached, over all GPUs; this breaks the last ties.
std::int64_t future_room(const PlanProblem& problem, const Goal& goal);

/// Fails with `infeasible` if no plan keeps the constraints and limits, and names the conflict.
[[nodiscard]] Result<Plan> make_plan(const PlanProblem& problem, const PlanOptions& options);

/// For a problem that no goal solves: which constraints or limits are in conflict, in words.
std::string why_impossible(const PlanProblem& problem);

/// The workloads that the goal leaves without a seat, each with what stands in the way.
std::vector<Pending> pending_work(const PlanProblem& problem, const Goal& goal);

}  // namespace cleave
