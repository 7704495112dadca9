#include "planner/gpu_pool.hpp"

#include <cassert>
#include <tuple>
#include <utility>

#include "placement/policy.hpp"

namespace cleave {

std::int32_t fullness(const StateGraph& graph, StateId state) {
  return share_of_slices({graph, {}}, graph.compute(state).value + graph.memory(state).value);
}

PlacementId first_place(const Geometry& geometry, PlacementSet places, StartOrder order) {
  const auto key = [&](PlacementId id) {
    const Placement& place = geometry[id];
    const int rank =
        order == StartOrder::preferred ? place.profile->starts.rank(place.start) : place.start;
    return std::tuple(rank, -place.profile->compute.value, place.start);
  };
  PlacementId best = places.first();
  for (const PlacementId id : places)
    if (key(id) < key(best)) best = id;
  return best;
}

GpuPool::GpuPool(Seating seating, Manner manner, const std::vector<GpuId>& line)
    : seating_(std::move(seating)), manner_(manner), line_(line) {
  const PlanProblem& problem = seating_.problem();
  const std::size_t gpus = problem.gpus.size();
  if (line_.empty())
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) line_.push_back(static_cast<GpuId>(gpu));
  place_.resize(gpus);
  for (std::uint32_t place = 0; place < line_.size(); ++place) place_[index(line_[place])] = place;
  tier_.assign(gpus, outside);
  class_of_.assign(gpus, none);
  on_node_.resize(problem.nodes.size());
  for (const GpuId gpu : line_) on_node_[problem.gpus[index(gpu)].node].push_back(gpu);
}

std::int32_t GpuPool::fullness_of(GpuId gpu) const {
  return fullness(seating_.problem().graph(gpu), seating_.occupied(gpu));
}

std::uint32_t GpuPool::class_of(GpuId gpu, std::uint8_t tier) {
  const PlanProblem& problem = seating_.problem();
  const std::uint16_t kind = problem.gpus[index(gpu)].kind;
  const StateId state = seating_.occupied(gpu);
  const std::size_t row = tier * problem.graphs.size() + kind;
  if (numbers_.size() <= row) numbers_.resize(row + 1);
  const StateGraph& graph = *problem.graphs[kind];
  if (numbers_[row].empty()) numbers_[row].assign(static_cast<std::size_t>(graph.size()), none);
  std::uint32_t& number = numbers_[row][state];
  if (number == none) {
    number = static_cast<std::uint32_t>(classes_.size());
    classes_.push_back({kind, state, tier, fullness(graph, state), graph.free(state), {}});
  }
  return number;
}

void GpuPool::enter(GpuId gpu) {
  const std::uint32_t number = class_of(gpu, tier_[index(gpu)]);
  class_of_[index(gpu)] = number;
  classes_[number].members.insert(place_[index(gpu)]);
}

void GpuPool::leave(GpuId gpu) {
  classes_[class_of_[index(gpu)]].members.erase(place_[index(gpu)]);
}

void GpuPool::add(GpuId gpu, std::uint8_t tier) {
  assert(!contains(gpu) && tier != outside);
  tier_[index(gpu)] = tier;
  enter(gpu);
}

void GpuPool::remove(GpuId gpu) {
  assert(contains(gpu));
  leave(gpu);
  tier_[index(gpu)] = outside;
}

void GpuPool::seat(WorkloadIndex workload, Seat where) {
  const bool ranked = contains(where.gpu);
  if (ranked) leave(where.gpu);
  seating_.seat(workload, where);
  if (ranked) enter(where.gpu);
}

void GpuPool::unseat(WorkloadIndex workload) {
  const GpuId gpu = seating_.goal()[workload]->gpu;
  const bool ranked = contains(gpu);
  if (ranked) leave(gpu);
  seating_.unseat(workload);
  if (ranked) enter(gpu);
}

std::size_t GpuPool::fitting(RequestId request) const {
  const auto& candidates = seating_.problem().requests[index(request)].candidates;
  std::size_t count = 0;
  for (const Class& of : classes_)
    if (of.free.meets(candidates[of.kind])) count += of.members.size();
  return count;
}

bool GpuPool::fits(RequestId request, GpuId gpu) const {
  if (!contains(gpu)) return false;
  const Class& of = classes_[class_of_[index(gpu)]];
  return of.free.meets(seating_.problem().requests[index(request)].candidates[of.kind]);
}

GpuPool::Rank GpuPool::rank(const Class& of, std::uint32_t place) const {
  switch (manner_.gpus) {
    case GpuOrder::fullest:
      return {of.tier, -of.fullness, place};
    case GpuOrder::emptiest:
      return {of.tier, of.fullness, place};
    case GpuOrder::first:
      break;
  }
  return {of.tier, 0, place};
}

std::optional<GpuPool::Rank> GpuPool::best_among(WorkloadIndex workload,
                                                 const std::vector<GpuId>& gpus) const {
  std::optional<Rank> best;
  for (const GpuId gpu : gpus) {
    if (!contains(gpu) || seating_.places(workload, gpu).empty()) continue;
    const Rank here = rank(classes_[class_of_[index(gpu)]], place_[index(gpu)]);
    if (!best || here < *best) best = here;
  }
  return best;
}

std::optional<GpuPool::Rank> GpuPool::best_of_all(WorkloadIndex workload) const {
  const PlanProblem& problem = seating_.problem();
  const ResolvedRequest& request = problem.requests[index(problem.workloads[workload].request)];
  const bool anywhere = problem.workloads[workload].rule == none;
  std::optional<Rank> best;
  for (const Class& of : classes_) {
    if (!of.free.meets(request.candidates[of.kind]) || of.members.empty()) continue;
    // Members are in line, so the first one that may have the workload is the best of the class.
    for (const std::uint32_t place : of.members) {
      const Rank here = rank(of, place);
      if (best && *best < here) break;
      if (!anywhere && !seating_.allowed(workload, line_[place])) continue;
      best = here;
      break;
    }
  }
  return best;
}

std::optional<Seat> GpuPool::choose(WorkloadIndex workload) const {
  const PlanProblem& problem = seating_.problem();
  const std::uint32_t number = problem.workloads[workload].rule;
  const PlanRule* rule = number == none ? nullptr : &problem.rules[number];
  std::optional<Rank> best;
  if (rule != nullptr && rule->pin_gpu != none)
    best = best_among(workload, {static_cast<GpuId>(rule->pin_gpu)});
  else if (rule != nullptr && rule->pin_node != none)
    best = best_among(workload, on_node_[rule->pin_node]);
  else
    best = best_of_all(workload);
  if (!best) return std::nullopt;
  const GpuId gpu = line_[best->place];
  return Seat{gpu,
              first_place(problem.geometry(gpu), seating_.places(workload, gpu), manner_.starts)};
}

bool GpuPool::place(WorkloadIndex workload) {
  const auto where = choose(workload);
  if (where) seat(workload, *where);
  return where.has_value();
}

}  // namespace cleave
