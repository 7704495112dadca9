#pragma once
// Plans: a problem and a method in, a checked goal with its figures out.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "planner/metrics.hpp"
#include "planner/problem.hpp"

namespace cleave {

/// Instead of one objective after the other, all at once with a price for each (the p_w, q_g and gammas of
/// *Optimal Workload Placement*, 4.1).
struct PlanWeights {
  std::int64_t pending = 0, gpus = 0, waste = 0, migration = 0, repartition = 0;  // thousandths
};

struct PlanOptions {
  std::string method = "optimal";  // or one of heuristics()
  std::optional<std::chrono::milliseconds> time_limit;
  std::optional<PlanWeights> weights;
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

struct Plan {
  std::string method;
  PlanStatus status = PlanStatus::infeasible;
  std::vector<Objective> objective;
  Goal goal;
  PlanMetrics now, then;
  std::int64_t future_room = 0;  // maximal layouts still to be reached, over all GPUs
};

/// Fails with `infeasible` where no plan keeps the constraints and limits, naming what is in conflict.
[[nodiscard]] Result<Plan> make_plan(const PlanProblem& problem, const PlanOptions& options);

}  // namespace cleave
