// Compaction (*Optimal Workload Placement*, 4.2): GPUs are emptied onto other GPUs in use, the
// least full first. An emptied GPU is never filled again, so no workload waits for another one to
// leave.

#include <algorithm>
#include <set>
#include <utility>

#include "planner/method.hpp"

namespace cleave {

namespace {

/// The cost of moving work for the first time; moving it again costs nothing more.
struct Moves {
  std::int64_t count = 0, mib = 0;
};

class Compaction {
 public:
  Compaction(const PlanProblem& problem, const Method& method, const Seating& seating);

  /// Empties GPUs until none can be emptied.
  void run() {
    while (empty_one()) {
    }
  }
  /// Puts a free GPU into use.
  void add(GpuId gpu) {
    pool_.add(gpu);
    fitting_.assign(fitting_.size(), std::nullopt);
  }

  [[nodiscard]] const std::vector<GpuId>& vacated() const { return vacated_; }
  [[nodiscard]] const Seating& seating() const { return pool_.seating(); }

 private:
  bool empty_one();
  bool empty(GpuId gpu);
  [[nodiscard]] std::vector<WorkloadIndex> work_on(GpuId gpu) const;
  [[nodiscard]] Moves first_moves(const std::vector<WorkloadIndex>& work) const;
  [[nodiscard]] bool affordable(Moves more) const;
  bool may_fit_elsewhere(const std::vector<WorkloadIndex>& work, GpuId gpu);
  bool move_away(const std::vector<WorkloadIndex>& work);
  void settle_moves(const std::vector<WorkloadIndex>& work, GpuId from);
  void rank(GpuId gpu);

  const PlanProblem* problem_;
  const Method* method_;
  GpuPool pool_;
  std::vector<std::vector<WorkloadIndex>> work_on_;  // on each GPU, unordered
  std::vector<bool> fixed_;                          // GPUs that hold work that must stay
  std::vector<std::int32_t> fullness_;               // of each GPU, as recorded in `by_fullness_`
  std::set<std::pair<std::int32_t, GpuId>> by_fullness_;  // GPUs that hold work
  std::vector<std::optional<std::size_t>>
      fitting_;  // GPUs that fit each request, since the last move
  Moves moves_;
  std::vector<GpuId> vacated_;
};

Compaction::Compaction(const PlanProblem& problem, const Method& method, const Seating& seating)
    : problem_(&problem),
      method_(&method),
      pool_(seating, method.manner),
      work_on_(problem.gpus.size()),
      fixed_(problem.gpus.size()),
      fullness_(problem.gpus.size(), 0),
      fitting_(problem.requests.size()) {
  for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i) {
    const auto& seat = seating.goal()[i];
    if (!seat) continue;
    const PlanWorkload& workload = problem.workloads[i];
    work_on_[index(seat->gpu)].push_back(i);
    if (workload.stays) fixed_[index(seat->gpu)] = true;
    if (!workload.now || *workload.now == *seat) continue;
    ++moves_.count;
    moves_.mib += workload.moved_mib;
  }
  for (std::size_t i = 0; i < problem.gpus.size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    if (!problem.gpus[i].walls.empty()) fixed_[i] = true;
    if (seating.occupied(gpu) != 0) pool_.add(gpu);
    rank(gpu);
  }
}

/// Updates the GPU's position among those that could be emptied.
void Compaction::rank(GpuId gpu) {
  const std::size_t i = index(gpu);
  by_fullness_.erase({fullness_[i], gpu});
  fullness_[i] = pool_.fullness_of(gpu);
  if (!work_on_[i].empty() && !fixed_[i]) by_fullness_.insert({fullness_[i], gpu});
}

bool Compaction::empty_one() {
  // The walk ends with the first success, since a success changes the order.
  return std::ranges::any_of(by_fullness_, [&](const auto& entry) { return empty(entry.second); });
}

std::vector<WorkloadIndex> Compaction::work_on(GpuId gpu) const {
  std::vector<WorkloadIndex> work = work_on_[index(gpu)];
  std::ranges::sort(
      work, {}, [&](WorkloadIndex i) { return problem_->placement(*seating().goal()[i]).start; });
  method_->sort(*problem_, work);
  return work;
}

Moves Compaction::first_moves(const std::vector<WorkloadIndex>& work) const {
  Moves moves;
  for (const WorkloadIndex i : work) {
    const PlanWorkload& workload = problem_->workloads[i];
    if (workload.now != seating().goal()[i]) continue;
    ++moves.count;
    moves.mib += workload.moved_mib;
  }
  return moves;
}

bool Compaction::affordable(Moves more) const {
  const PlanLimits& limits = problem_->limits;
  return (!limits.migrations || moves_.count + more.count <= *limits.migrations) &&
         (!limits.moved_mib || moves_.mib + more.mib <= *limits.moved_mib);
}

/// Whether each workload, looked at alone, fits on another GPU. Only spares attempts that must
/// fail.
bool Compaction::may_fit_elsewhere(const std::vector<WorkloadIndex>& work, GpuId gpu) {
  return std::ranges::all_of(work, [&](WorkloadIndex i) {
    const RequestId request = problem_->workloads[i].request;
    auto& count = fitting_[index(request)];
    if (!count) count = pool_.fitting(request);
    return *count > (pool_.fits(request, gpu) ? 1U : 0U);
  });
}

/// Moves all of it onto GPUs of the pool, or nothing.
bool Compaction::move_away(const std::vector<WorkloadIndex>& work) {
  std::vector<Seat> from;
  for (const WorkloadIndex i : work) {
    from.push_back(*seating().goal()[i]);
    pool_.unseat(i);
  }
  std::size_t placed = 0;
  while (placed < work.size() && pool_.place(work[placed])) ++placed;
  if (placed == work.size()) return true;
  for (std::size_t i = 0; i < placed; ++i) pool_.unseat(work[i]);
  for (std::size_t i = 0; i < work.size(); ++i) pool_.seat(work[i], from[i]);
  return false;
}

void Compaction::settle_moves(const std::vector<WorkloadIndex>& work, GpuId from) {
  work_on_[index(from)].clear();
  for (const WorkloadIndex i : work) work_on_[index(seating().goal()[i]->gpu)].push_back(i);
  for (const WorkloadIndex i : work) rank(seating().goal()[i]->gpu);
  rank(from);
  fitting_.assign(fitting_.size(), std::nullopt);
  vacated_.push_back(from);
}

bool Compaction::empty(GpuId gpu) {
  const std::vector<WorkloadIndex> work = work_on(gpu);
  const Moves more = first_moves(work);
  if (!may_fit_elsewhere(work, gpu) || !affordable(more)) return false;
  pool_.remove(gpu);
  if (!move_away(work)) {
    pool_.add(gpu);
    return false;
  }
  moves_.count += more.count;
  moves_.mib += more.mib;
  settle_moves(work, gpu);
  return true;
}

/// The free GPUs that may be put into use: the first of each model.
std::vector<GpuId> first_free_gpus(const PlanProblem& problem, const Seating& seating) {
  std::vector<GpuId> found;
  std::vector<bool> seen(problem.graphs.size());
  for (std::size_t i = 0; i < problem.gpus.size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const std::uint16_t kind = problem.gpus[i].kind;
    if (seen[kind] || seating.occupied(gpu) != 0 || !problem.running_on(gpu).empty()) continue;
    seen[kind] = true;
    found.push_back(gpu);
  }
  return found;
}

}  // namespace

HeuristicOutcome compact_by(const PlanProblem& problem, const Method& method) {
  HeuristicOutcome outcome;
  const Seating seating = settle(problem, method, outcome.pending);
  Compaction compaction(problem, method, seating);
  compaction.run();
  for (const GpuId gpu : first_free_gpus(problem, seating)) {
    Compaction with_one_more = compaction;
    with_one_more.add(gpu);
    with_one_more.run();
    if (with_one_more.vacated().size() <= compaction.vacated().size() + 1) continue;
    compaction = std::move(with_one_more);
    outcome.added = gpu;
    break;
  }
  outcome.vacated = compaction.vacated();
  outcome.goal = compaction.seating().goal();
  return outcome;
}

}  // namespace cleave
