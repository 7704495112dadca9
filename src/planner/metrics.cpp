#include "planner/metrics.hpp"

#include <algorithm>

namespace cleave {

namespace {

/// What each GPU holds in the goal: walls and seated work.
std::vector<PlacementSet> layouts_of(const PlanProblem& problem, const Goal& goal) {
  std::vector<PlacementSet> layouts;
  layouts.reserve(problem.gpus.size());
  for (const PlanGpu& gpu : problem.gpus) layouts.push_back(gpu.walls);
  for (const auto& seat : goal)
    if (seat) layouts[index(seat->gpu)].insert(seat->placement);
  return layouts;
}

/// GPU slices of waiting work: for one profile, the most that it takes at any start (the paper's
/// table 1); for several profiles, the least.
int waiting_gpu_slices(const ResolvedRequest& request, const PlanProblem& problem) {
  int least = 0;
  for (std::size_t kind = 0; kind < problem.graphs.size(); ++kind) {
    const Geometry& geometry = problem.graphs[kind]->geometry();
    for (const PlacementId candidate : request.candidates[kind]) {
      int most = 0;
      for (const PlacementId other : geometry.of_profile(geometry[candidate].profile_index))
        most = std::max(most, gpu_slices(geometry, other));
      if (least == 0 || most < least) least = most;
    }
  }
  return least;
}

/// The figures that follow from the layouts alone.
void measure_layouts(const PlanProblem& problem, const std::vector<PlacementSet>& layouts,
                     PlanMetrics& m) {
  std::int64_t memory = 0, compute = 0, all_memory = 0, all_compute = 0;
  for (std::size_t gpu = 0; gpu < layouts.size(); ++gpu) {
    const Geometry& geometry = problem.geometry(static_cast<GpuId>(gpu));
    m.availability += geometry.model().compute.value;
    if (layouts[gpu].empty()) continue;
    ++m.gpus;
    for (const PlacementId id : layouts[gpu]) {
      const Waste wasted = waste(geometry, id);
      m.memory_wastage += wasted.memory;
      m.compute_wastage += wasted.compute;
      m.availability -= gpu_slices(geometry, id);
    }
    memory += geometry.memory(layouts[gpu]).value;
    compute += geometry.compute(layouts[gpu]).value;
    all_memory += geometry.model().memory_slices.value;
    all_compute += geometry.model().compute.value;
  }
  if (m.gpus == 0) return;
  m.memory_utilization = Ratio(memory, all_memory);
  m.compute_utilization = Ratio(compute, all_compute);
}

}  // namespace

PlanMetrics metrics(const PlanProblem& problem, const Goal& goal) {
  PlanMetrics m;
  measure_layouts(problem, layouts_of(problem, goal), m);
  std::vector<int> waiting;
  for (const ResolvedRequest& request : problem.requests)
    waiting.push_back(waiting_gpu_slices(request, problem));
  const std::vector<PlacementSet> now = layouts_of(problem, goal_of_now(problem));
  for (WorkloadIndex workload = 0; workload < goal.size(); ++workload) {
    const PlanWorkload& work = problem.workloads[workload];
    if (!goal[workload]) {
      m.pending_size += problem.size(workload).value;
      m.availability -= waiting[index(work.request)];
      continue;
    }
    const Seat seat = *goal[workload];
    const Action action = action_of(work, seat);
    if (action == Action::move_within) ++m.moved_inside_gpu;
    if (action != Action::migrate) continue;
    m.migration_size += problem.placement(*work.now).profile->memory.value;
    const Geometry& geometry = problem.geometry(seat.gpu);
    if ((geometry.slices(now[index(seat.gpu)]) & geometry[seat.placement].slices) != 0)
      ++m.sequential_migrations;
  }
  return m;
}

namespace {

/// The largest profile that may start at this slice. Placements are numbered from large to small.
std::optional<PlacementId> largest_at(const Geometry& geometry, PlacementSet free, int slice) {
  for (const PlacementId id : free)
    if (geometry[id].start == slice) return id;
  return std::nullopt;
}

}  // namespace

std::vector<PlacementId> largest_free_partitions(const Geometry& geometry, PlacementSet taken) {
  std::vector<PlacementId> partitions;
  for (int slice = 0; slice < geometry.model().memory_slices.value; ++slice) {
    const auto largest = largest_at(geometry, geometry.free(taken), slice);
    if (!largest) continue;
    taken.insert(*largest);
    partitions.push_back(*largest);
  }
  return partitions;
}

}  // namespace cleave
