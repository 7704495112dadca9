#include "planner/method.hpp"

#include <algorithm>
#include <utility>

namespace cleave {

namespace {

/// Slices as whole-number shares of a GPU: every count of slices up to sixteen divides this.
constexpr std::int64_t whole = 720720;

struct Size {
  std::int64_t share = 0;
  int profile = 0;  // index into the model's table, from large to small
};

Size size_of(const ResolvedRequest& request, const PlanProblem& problem) {
  const auto smaller = [](Size a, Size b) {
    return a.share != b.share ? a.share < b.share : a.profile > b.profile;
  };
  Size size;
  for (std::size_t kind = 0; kind < problem.graphs.size(); ++kind) {
    const Geometry& geometry = problem.graphs[kind]->geometry();
    const std::int64_t slices =
        geometry.model().compute.value + geometry.model().memory_slices.value;
    std::optional<Size> least;
    for (const PlacementId id : request.candidates[kind]) {
      const Profile& profile = *geometry[id].profile;
      const Size here{whole / slices * (profile.compute.value + profile.memory.value),
                      geometry[id].profile_index};
      if (!least || smaller(here, *least)) least = here;
    }
    if (least && smaller(size, *least)) size = *least;
  }
  return size;
}

/// The smallest shares of one GPU's compute and memory that the request needs on any model.
std::pair<std::int64_t, std::int64_t> least_shares(const ResolvedRequest& request,
                                                   const PlanProblem& problem) {
  std::int64_t compute = whole, memory = whole;
  for (std::size_t kind = 0; kind < problem.graphs.size(); ++kind) {
    const Geometry& geometry = problem.graphs[kind]->geometry();
    for (const PlacementId id : request.candidates[kind]) {
      const Profile& profile = *geometry[id].profile;
      compute = std::min(compute, whole / geometry.model().compute.value * profile.compute.value);
      memory =
          std::min(memory, whole / geometry.model().memory_slices.value * profile.memory.value);
    }
  }
  return {compute, memory};
}

std::vector<WorkloadIndex> work_without_seat(const Seating& seating) {
  std::vector<WorkloadIndex> work;
  for (WorkloadIndex i = 0; i < seating.goal().size(); ++i)
    if (!seating.goal()[i]) work.push_back(i);
  return work;
}

/// Whether nothing runs on it now and it has no instance of anyone else's.
bool free_now(const PlanProblem& problem, GpuId gpu) {
  return problem.running_on(gpu).empty() && problem.gpus[index(gpu)].walls.empty();
}

/// Places the work in the method's order; work that fits nowhere is added to `pending`.
void place_all(GpuPool& pool, const Method& method, std::vector<WorkloadIndex> work,
               std::vector<WorkloadIndex>& pending) {
  method.sort(pool.seating().problem(), work);
  for (const WorkloadIndex workload : work)
    if (!pool.place(workload)) pending.push_back(workload);
}

/// Whether the moves of the goal are within the problem's limits.
bool within_limits(const PlanProblem& problem, const Goal& goal) {
  if (!problem.limits.migrations && !problem.limits.moved_mib) return true;
  std::int64_t moves = 0, mib = 0;
  for (WorkloadIndex i = 0; i < goal.size(); ++i) {
    const PlanWorkload& workload = problem.workloads[i];
    if (!goal[i] || !workload.now || *goal[i] == *workload.now) continue;
    ++moves;
    mib += workload.moved_mib;
  }
  const PlanLimits& limits = problem.limits;
  return (!limits.migrations || moves <= *limits.migrations) &&
         (!limits.moved_mib || mib <= *limits.moved_mib);
}

}  // namespace

void sort_by_size(const PlanProblem& problem, std::vector<WorkloadIndex>& work) {
  std::vector<Size> sizes;
  for (const ResolvedRequest& request : problem.requests)
    sizes.push_back(size_of(request, problem));
  std::ranges::stable_sort(work, [&](WorkloadIndex a, WorkloadIndex b) {
    const Size first = sizes[index(problem.workloads[a].request)];
    const Size second = sizes[index(problem.workloads[b].request)];
    return first.share != second.share ? first.share > second.share
                                       : first.profile < second.profile;
  });
}

std::int64_t least_gpus(const PlanProblem& problem) {
  std::vector<std::pair<std::int64_t, std::int64_t>> shares;
  for (const ResolvedRequest& request : problem.requests)
    shares.push_back(least_shares(request, problem));
  std::int64_t compute = 0, memory = 0;
  for (const PlanWorkload& workload : problem.workloads) {
    if (!workload.now) continue;
    compute += shares[index(workload.request)].first;
    memory += shares[index(workload.request)].second;
  }
  return (std::max(compute, memory) + whole - 1) / whole;
}

HeuristicOutcome deploy_by(const PlanProblem& problem, const Method& method) {
  GpuPool pool(Seating::of_now(problem), method.manner);
  for (std::size_t gpu = 0; gpu < problem.gpus.size(); ++gpu) pool.add(static_cast<GpuId>(gpu));
  HeuristicOutcome outcome;
  place_all(pool, method, work_without_seat(pool.seating()), outcome.pending);
  outcome.goal = pool.seating().goal();
  return outcome;
}

namespace {

/// Running work holds its places: its replicas, which are what is seated, go beside it.
HeuristicOutcome reconfigure_beside(const PlanProblem& problem, const Method& method) {
  PlanProblem standing = problem;
  for (const PlanWorkload& workload : problem.workloads)
    if (workload.now && !workload.stays)
      standing.gpus[index(workload.now->gpu)].walls.insert(workload.now->placement);
  GpuPool pool(Seating::of_what_stays(standing), method.manner);
  for (std::size_t gpu = 0; gpu < problem.gpus.size(); ++gpu) pool.add(static_cast<GpuId>(gpu));
  HeuristicOutcome outcome;
  outcome.minimum = least_gpus(problem);
  outcome.gpus_tried = static_cast<std::int64_t>(problem.gpus.size());
  place_all(pool, method, work_without_seat(pool.seating()), outcome.pending);
  outcome.goal = pool.seating().goal();
  return outcome;
}

}  // namespace

HeuristicOutcome reconfigure_in_one_pass(const PlanProblem& problem, const Method& method) {
  if (problem.beside_running)
    return unless_beyond_limits(problem, method, reconfigure_beside(problem, method));
  GpuPool pool(Seating::of_what_stays(problem), method.manner);
  HeuristicOutcome outcome;
  outcome.minimum = least_gpus(problem);
  outcome.gpus_tried = 0;
  for (std::size_t i = 0; i < problem.gpus.size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const bool free = free_now(problem, gpu);
    pool.add(gpu, free ? 0 : 1);
    if (free) ++*outcome.gpus_tried;
  }
  place_all(pool, method, work_without_seat(pool.seating()), outcome.pending);
  outcome.goal = pool.seating().goal();
  return unless_beyond_limits(problem, method, std::move(outcome));
}

HeuristicOutcome unless_beyond_limits(const PlanProblem& problem, const Method& method,
                                      HeuristicOutcome outcome) {
  if (within_limits(problem, outcome.goal)) return outcome;
  HeuristicOutcome instead;
  instead.minimum = outcome.minimum;
  instead.gpus_tried = outcome.gpus_tried;
  instead.goal = settle(problem, method, instead.pending).goal();
  return instead;
}

Seating settle(const PlanProblem& problem, const Method& method,
               std::vector<WorkloadIndex>& pending) {
  Seating seating = Seating::of_what_stays(problem);
  std::vector<WorkloadIndex> misplaced;
  for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i) {
    const PlanWorkload& workload = problem.workloads[i];
    if (!workload.now || workload.stays) continue;
    if (seating.allowed(i, workload.now->gpu))
      seating.seat(i, *workload.now);
    else
      misplaced.push_back(i);
  }
  if (misplaced.empty()) return seating;
  GpuPool pool(std::move(seating), method.manner);
  for (std::size_t i = 0; i < problem.gpus.size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    pool.add(gpu, pool.seating().occupied(gpu) == 0 ? 1 : 0);
  }
  method.sort(problem, misplaced);
  for (const WorkloadIndex workload : misplaced) {
    const bool placed = pool.place(workload);
    if (placed && within_limits(problem, pool.seating().goal())) continue;
    if (placed) pool.unseat(workload);
    pending.push_back(workload);
  }
  return pool.seating();
}

}  // namespace cleave
