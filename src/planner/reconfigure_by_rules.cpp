// How the rules of *Optimal Workload Placement*, 4.2, reconfigure a fleet: they begin with work
// that can use a GPU's spare memory slice.

#include <algorithm>
#include <tuple>

#include "planner/method.hpp"
#include "planner/metrics.hpp"

namespace cleave {

namespace {

constexpr Manner first_fit{GpuOrder::first, StartOrder::preferred};

/// Placements of less than a whole GPU that use its spare memory slice: on an A100 the 3g at 4 and
/// the double-memory 1g at 6 (profiles 9 and 15).
PlacementSet uses_of_spare_slice(const Geometry& geometry) {
  const GpuModel& model = geometry.model();
  PlacementSet uses;
  if (!compute_follows_memory(model) || model.memory_slices.value == model.compute.value)
    return uses;
  for (const PlacementId id : geometry.all()) {
    const Placement& where = geometry[id];
    if (where.start > 0 && where.start + where.profile->memory.value == model.memory_slices.value)
      uses.insert(id);
  }
  return uses;
}

/// How many of these placements fit on an empty GPU together.
std::size_t most_at_once(const StateGraph& graph, PlacementSet placements) {
  int most = 0;
  for (int state = 0; state < graph.size(); ++state)
    most = std::max(most, (graph.state(static_cast<StateId>(state)) & placements).size());
  return static_cast<std::size_t>(most);
}

class Reconfiguration {
 public:
  explicit Reconfiguration(const PlanProblem& problem);
  HeuristicOutcome run();

 private:
  struct Round {
    GpuPool pool;
    std::vector<WorkloadIndex> rest;        // large first
    std::vector<WorkloadIndex> spare_work;  // work that got no GPU to itself
    Seating begun;                          // with work for spare slices only
  };
  void line_up();
  void split_work();
  [[nodiscard]] std::size_t first_round(std::int64_t minimum) const;
  [[nodiscard]] Round start_round(std::size_t gpus) const;
  [[nodiscard]] bool would_take_one(GpuId gpu, const Round& round) const;

  const PlanProblem& problem_;
  Seating stays_;
  std::vector<GpuId> line_;                // GPUs in the order in which they are used
  std::size_t fixed_ = 0;                  // how many GPUs, the first in line, hold work that stays
  std::vector<PlacementSet> spare_;        // uses of the spare slice on each model
  std::vector<WorkloadIndex> spare_work_;  // work that can use it, large first
  std::vector<WorkloadIndex> work_;        // all movable work
};

Reconfiguration::Reconfiguration(const PlanProblem& problem)
    : problem_(problem), stays_(Seating::of_what_stays(problem)) {
  for (const auto& graph : problem.graphs) spare_.push_back(uses_of_spare_slice(graph->geometry()));
  line_up();
  split_work();
}

/// GPUs that hold work that stays are in use anyway and come first; then the emptiest, so free
/// ones.
void Reconfiguration::line_up() {
  const Seating now = Seating::of_now(problem_);
  std::vector<std::tuple<bool, std::int32_t, GpuId>> keys;
  for (std::size_t i = 0; i < problem_.gpus.size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const bool fixed = stays_.occupied(gpu) != 0;
    if (fixed) ++fixed_;
    keys.emplace_back(!fixed, fullness(problem_.graph(gpu), now.occupied(gpu)), gpu);
  }
  std::ranges::sort(keys);
  for (const auto& key : keys) line_.push_back(std::get<GpuId>(key));
}

void Reconfiguration::split_work() {
  for (WorkloadIndex i = 0; i < problem_.workloads.size(); ++i)
    if (!problem_.workloads[i].stays) work_.push_back(i);
  sort_by_size(problem_, work_);
  const auto can_use_spare = [&](WorkloadIndex i) {
    for (std::size_t kind = 0; kind < problem_.graphs.size(); ++kind)
      if (problem_.wanted(i, kind).meets(spare_[kind])) return true;
    return false;
  };
  std::ranges::copy_if(work_, std::back_inserter(spare_work_), can_use_spare);
}

/// How many GPUs to begin with. Rounds that must fail are skipped: those with fewer GPUs than equal
/// requests need if a GPU takes as many of them as an empty one can. (Work of which a GPU takes
/// only one, such as +me instances, would otherwise cost a round each.)
std::size_t Reconfiguration::first_round(std::int64_t minimum) const {
  std::size_t gpus = std::max(fixed_, static_cast<std::size_t>(minimum));
  std::vector<std::size_t> count(problem_.requests.size());
  for (const PlanWorkload& workload : problem_.workloads) ++count[index(workload.request)];
  for (std::size_t request = 0; request < count.size(); ++request) {
    if (count[request] == 0) continue;
    std::size_t most = 1;
    for (std::size_t kind = 0; kind < problem_.graphs.size(); ++kind)
      most = std::max(
          most, most_at_once(*problem_.graphs[kind], problem_.requests[request].candidates[kind]));
    gpus = std::max(gpus, (count[request] + most - 1) / most);
  }
  return std::min(gpus, line_.size());
}

/// The first `gpus` GPUs in line, each with one workload that can use the spare slice while there
/// are any.
Reconfiguration::Round Reconfiguration::start_round(std::size_t gpus) const {
  Round round{GpuPool(stays_, first_fit, line_), {}, {}, stays_};
  std::vector<WorkloadIndex> waiting = spare_work_;
  // For each model, the first workload that may be of use to it: those before it are seated, or
  // unsuitable.
  std::vector<std::size_t> first(spare_.size());
  for (std::size_t i = 0; i < gpus; ++i) {
    const GpuId gpu = line_[i];
    round.pool.add(gpu);
    const std::uint16_t kind = problem_.gpus[index(gpu)].kind;
    const auto of_use = [&](WorkloadIndex work) {
      return work != none && problem_.wanted(work, kind).meets(spare_[kind]);
    };
    while (first[kind] < waiting.size() && !of_use(waiting[first[kind]])) ++first[kind];
    for (std::size_t j = first[kind]; j < waiting.size(); ++j) {
      if (!of_use(waiting[j])) continue;
      const PlacementSet places = round.pool.seating().places(waiting[j], gpu) & spare_[kind];
      if (places.empty()) continue;
      round.pool.seat(waiting[j],
                      {gpu, first_place(problem_.geometry(gpu), places, StartOrder::preferred)});
      waiting[j] = none;
      break;
    }
  }
  std::ranges::copy_if(waiting, std::back_inserter(round.spare_work),
                       [](WorkloadIndex work) { return work != none; });
  round.begun = round.pool.seating();
  for (const WorkloadIndex work : work_)
    if (!round.pool.seating().goal()[work]) round.rest.push_back(work);
  return round;
}

/// Whether a round with this GPU added would give it work for its spare slice.
bool Reconfiguration::would_take_one(GpuId gpu, const Round& round) const {
  const PlacementSet uses = spare_[problem_.gpus[index(gpu)].kind];
  return !uses.empty() && std::ranges::any_of(round.spare_work, [&](WorkloadIndex work) {
    return round.begun.places(work, gpu).meets(uses);
  });
}

HeuristicOutcome Reconfiguration::run() {
  HeuristicOutcome outcome;
  outcome.minimum = least_gpus(problem_);
  std::size_t gpus = first_round(*outcome.minimum);
  Round round = start_round(gpus);
  for (std::size_t next = 0; next < round.rest.size();) {
    if (round.pool.place(round.rest[next])) {
      ++next;
    } else if (gpus == line_.size()) {
      outcome.pending.push_back(round.rest[next++]);
    } else if (!would_take_one(line_[gpus], round)) {
      // Another round would do the same up to here, with one more GPU at the end of the line.
      round.pool.add(line_[gpus++]);
    } else {
      round = start_round(++gpus);
      next = 0;
    }
  }
  outcome.gpus_tried = static_cast<std::int64_t>(gpus);
  outcome.goal = round.pool.seating().goal();
  return outcome;
}

}  // namespace

HeuristicOutcome reconfigure_by_rules(const PlanProblem& problem, const Method& method) {
  return unless_beyond_limits(problem, method, Reconfiguration(problem).run());
}

}  // namespace cleave
