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

/// Instead of one objective after the other, all at once with a price for each (the p_w, q_g and
/// gammas of *Optimal Workload Placement*, 4.1).
struct PlanWeights {
  std::int64_t pending = 0, gpus = 0, waste = 0, migration = 0, repartition = 0;  // thousandths
};

struct PlanOptions {
  std::string method = "optimal";  // or one of heuristics()
  /// For the optimal method; when it is up, the best found is the plan, with its bounds.
  std::chrono::milliseconds time_limit{60'000};
  std::optional<PlanWeights> weights;
  /// Work may be stopped before its new place is there, where the goal cannot be reached otherwise.
  bool allow_disruptive = false;
  /// Only goals that can be reached without that; the plan is optimal only where the best goal is
  /// one of them.
  bool non_disruptive_only = false;
};

enum class PlanStatus { optimal, feasible, infeasible };
std::string_view name(PlanStatus status);

/// One objective: what the goal has, what no goal can be below (given the ones before it), and why.
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

struct Plan {
  std::string method;
  PlanStatus status = PlanStatus::infeasible;
  std::optional<PlanWeights> weights;
  std::vector<Objective>
      objective;  // one after the other; with weights only their sum, in thousandths
  std::vector<std::int64_t> values;  // of objective_names(), whatever the mode
  Goal goal;
  std::vector<Pending> pending;
  PlanMetrics now, then;
  Moves moves;                   // how to get there
  std::int64_t future_room = 0;  // maximal layouts still to be reached, over all GPUs
};

/// A plan to a goal that somebody else chose. Nothing is claimed of how good it is.
[[nodiscard]] Result<Plan> plan_to(const PlanProblem& problem, const Target& target,
                                   const MoveOptions& options);

/// "optimal" and the heuristics.
std::vector<std::string> plan_methods();

/// Maximal layouts that can still be reached, over all GPUs: what breaks the last ties.
std::int64_t future_room(const PlanProblem& problem, const Goal& goal);

/// Fails with `infeasible` where no plan keeps the constraints and limits, naming what is in
/// conflict.
[[nodiscard]] Result<Plan> make_plan(const PlanProblem& problem, const PlanOptions& options);

/// For a problem that no goal solves: which constraints or limits are in conflict, in words.
std::string why_impossible(const PlanProblem& problem);

/// The workloads that the goal leaves without a seat, each with what stands in the way.
std::vector<Pending> pending_work(const PlanProblem& problem, const Goal& goal);

}  // namespace cleave
