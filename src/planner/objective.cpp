#include "planner/objective.hpp"

#include "planner/metrics.hpp"

namespace cleave {

namespace {

constexpr std::string_view in_general[] = {"pending_memory_slices", "gpus", "wasted_slices",
                                           "migration_memory_slices", "repartitioned_gpus"};
constexpr std::string_view reconfiguring[] = {"pending_memory_slices", "gpus", "wasted_slices",
                                              "previously_used_gpus", "migration_memory_slices"};

/// One GPU, now and in the goal.
struct BeforeAfter {
  PlacementSet before;  // our instances
  PlacementSet after;   // of work in the goal
  bool had_work = false;
};

}  // namespace

std::span<const std::string_view> objective_names(ProblemKind kind) {
  if (kind == ProblemKind::reconfigure) return reconfiguring;
  return in_general;
}

std::vector<std::int64_t> objective_values(const PlanProblem& problem, const Goal& goal) {
  std::int64_t pending = 0, gpus = 0, wasted = 0, again = 0, moved = 0, repartitioned = 0;
  std::vector<BeforeAfter> each(problem.gpus.size());
  for (std::size_t i = 0; i < each.size(); ++i) each[i].before = problem.gpus[i].idle;
  for (WorkloadIndex i = 0; i < goal.size(); ++i) {
    const PlanWorkload& work = problem.workloads[i];
    if (work.now) {
      each[index(work.now->gpu)].before.insert(work.now->placement);
      each[index(work.now->gpu)].had_work = true;
      if (goal[i] != work.now) moved += problem.placement(*work.now).profile->memory.value;
    }
    if (goal[i]) {
      each[index(goal[i]->gpu)].after.insert(goal[i]->placement);
    } else {
      pending += problem.size(i).value;
    }
  }
  for (std::size_t i = 0; i < each.size(); ++i) {
    const PlanGpu& gpu = problem.gpus[i];
    const Geometry& geometry = problem.graphs[gpu.kind]->geometry();
    const PlacementSet taken = each[i].after | gpu.walls;
    if (!taken.empty()) ++gpus;
    for (const PlacementId id : taken) wasted += waste(geometry, id).slices();
    if (each[i].had_work && !each[i].after.empty()) ++again;
    const PlacementSet fresh = each[i].after - each[i].before;
    if (!fresh.empty() && geometry.blocked(fresh).meets(each[i].before)) ++repartitioned;
  }
  if (problem.kind == ProblemKind::reconfigure) return {pending, gpus, wasted, again, moved};
  return {pending, gpus, wasted, moved, repartitioned};
}

}  // namespace cleave
