#include "planner/problem.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "planner/seating.hpp"

namespace cleave {

namespace {

struct KindRow {
  ProblemKind kind;
  std::string_view name;
};
constexpr KindRow kinds[] = {{ProblemKind::deploy, "deploy"},
                             {ProblemKind::compact, "compact"},
                             {ProblemKind::reconfigure, "reconfigure"},
                             {ProblemKind::joint, "joint"}};

bool sorted_contains(const std::vector<std::uint32_t>& list, std::uint32_t value) {
  return std::ranges::binary_search(list, value);
}

}  // namespace

std::string_view name(ProblemKind kind) {
  return std::ranges::find(kinds, kind, &KindRow::kind)->name;
}

std::string_view name(Action action) {
  switch (action) {
    case Action::stay:
      return "stay";
    case Action::place:
      return "place";
    case Action::migrate:
      return "migrate";
    case Action::move_within:
      return "move-within";
  }
  return "";
}

Action action_of(const PlanWorkload& workload, Seat seat) {
  if (!workload.now) return Action::place;
  if (*workload.now == seat) return Action::stay;
  return workload.now->gpu == seat.gpu ? Action::move_within : Action::migrate;
}

/// Reads a fleet file into a problem.
class ProblemBuilder {
 public:
  ProblemBuilder(const FleetFile& file, ProblemKind kind, std::string place)
      : file_(file), place_(std::move(place)), table_(file.geometries) {
    problem.kind = kind;
    problem.place = place_;
  }

  Result<PlanProblem> build() {
    for (const Geometry& geometry : file_.geometries)
      problem.graphs.push_back(StateGraph::of(geometry.model(), geometry.profiles()));
    add_gpus();
    for (std::size_t gpu = 0; gpu < file_.gpus.size() && !error_; ++gpu) add_instances(gpu);
    const bool wants_new =
        problem.kind == ProblemKind::deploy || problem.kind == ProblemKind::joint;
    for (std::size_t i = 0; wants_new && i < file_.waiting.size() && !error_; ++i) add_waiting(i);
    if (error_) return std::unexpected(*error_);
    for (std::size_t id = 0; id < table_.size(); ++id) {
      problem.requests.push_back(table_[static_cast<RequestId>(id)]);
      problem.sizes_.push_back(size_of(problem.requests.back()));
    }
    return std::move(problem);
  }

 private:
  PlanProblem problem;

  void refuse(const std::string& where, std::string message, std::string remedy = {}) {
    if (error_) return;
    const std::string place = place_.empty() ? where : fmt::format("{}: {}", place_, where);
    error_ = Error{ErrorKind::bad_input, place, std::move(message), std::move(remedy)};
  }

  void add_gpus() {
    std::unordered_map<std::string_view, std::uint32_t> nodes;
    problem.gpus.reserve(file_.gpus.size());
    for (const GpuEntry& entry : file_.gpus) {
      const auto [node, fresh] =
          nodes.try_emplace(node_of(entry.name), static_cast<std::uint32_t>(nodes.size()));
      if (fresh) problem.nodes.push_back(node->first);
      problem.gpus.push_back(
          {entry.name, static_cast<std::uint16_t>(entry.geometry), node->second, {}, {}});
    }
    problem.running_.resize(file_.gpus.size());
  }

  void add_instances(std::size_t gpu) {
    const GpuEntry& entry = file_.gpus[gpu];
    PlanGpu& target = problem.gpus[gpu];
    const Geometry& geometry = file_.geometries[entry.geometry];
    // By start: the order in which people read a GPU, and in which methods take its work.
    order_.resize(entry.instances.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::ranges::sort(order_, {},
                      [&](std::size_t i) { return geometry[entry.instances[i].placement].start; });
    for (const std::size_t i : order_) {
      const InstanceEntry& instance = entry.instances[i];
      if (!instance.owned || (!instance.workload && !instance.movable)) {
        target.walls.insert(instance.placement);
      } else if (!instance.workload) {
        target.idle.insert(instance.placement);
      } else {
        add_running(gpu, i);
      }
    }
  }

  void add_running(std::size_t gpu, std::size_t number) {
    const GpuEntry& entry = file_.gpus[gpu];
    const InstanceEntry& instance = entry.instances[number];
    const auto where = [&] { return fmt::format("gpus[{}].instances[{}]", gpu, number); };
    const Profile& profile = *file_.geometries[entry.geometry][instance.placement].profile;
    PlanWorkload workload;
    workload.name = *instance.workload;
    workload.request = request_of(profile.name);
    workload.now = Seat{static_cast<GpuId>(gpu), instance.placement};
    workload.stays = problem.kind == ProblemKind::deploy || !instance.movable;
    workload.moved_mib = instance.memory  ? instance.memory->value
                         : profile.usable ? profile.usable->value
                                          : std::int64_t{profile.name_gb()} * 1024;
    workload.rule = rule_of(instance.constraints, where);
    problem.running_[gpu].push_back(static_cast<WorkloadIndex>(problem.workloads.size()));
    problem.workloads.push_back(workload);
    if (!instance.movable && problem.kind != ProblemKind::deploy) check_stays(where());
  }

  /// Work that cannot move and may not stay where it is leaves nothing to plan.
  void check_stays(const std::string& where) {
    const auto index = static_cast<WorkloadIndex>(problem.workloads.size() - 1);
    const PlanWorkload& workload = problem.workloads.back();
    if (!problem.allows(index, workload.now->gpu))
      refuse(where,
             fmt::format("'{}' must not move, but its pin or forbidden GPUs keep it off {}",
                         shown(workload.name),
                         shown(problem.gpus[cleave::index(workload.now->gpu)].name)),
             "let it move, or change the constraint");
  }

  void add_waiting(std::size_t i) {
    const WaitingEntry& entry = file_.waiting[i];
    const auto where = [&] { return fmt::format("waiting[{}]", i); };
    PlanWorkload workload;
    workload.name = entry.workload;
    const auto* by_profile = std::get_if<ByProfile>(&entry.request.wanted);
    workload.request = by_profile != nullptr && !entry.request.fits
                           ? request_of(by_profile->profile)
                           : table_.intern(entry.request);
    if (!table_[workload.request].impossible.empty())
      refuse(where(), table_[workload.request].impossible);
    workload.rule = rule_of(entry.constraints, where);
    problem.workloads.push_back(workload);
  }

  /// Requests by profile are by far the most frequent, and there are few names.
  RequestId request_of(std::string_view profile) {
    const auto found = by_profile_.find(profile);
    if (found != by_profile_.end()) return found->second;
    const RequestId id = table_.intern({ByProfile{std::string(profile)}, std::nullopt});
    by_profile_.emplace(profile, id);
    return id;
  }

  /// `where` says in words where the constraints stand, which few have.
  std::uint32_t rule_of(const Constraints& constraints, const auto& where) {
    if (!constraints.pin && constraints.forbid.empty() && !constraints.group) return none;
    name_places();
    PlanRule rule;
    if (constraints.pin) {
      const auto [gpu, node] = find_place(*constraints.pin, where() + ".pin");
      rule.pin_gpu = gpu;
      rule.pin_node = node;
    }
    for (std::size_t i = 0; i < constraints.forbid.size(); ++i) {
      const auto [gpu, node] =
          find_place(constraints.forbid[i], fmt::format("{}.forbid[{}]", where(), i));
      if (gpu != none) rule.forbidden_gpus.push_back(gpu);
      if (node != none) rule.forbidden_nodes.push_back(node);
    }
    for (auto* list : {&rule.forbidden_gpus, &rule.forbidden_nodes}) {
      std::ranges::sort(*list);
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    if (constraints.group) rule.group = group_of(constraints);
    const auto [found, fresh] = rules_.try_emplace(rule, static_cast<std::uint32_t>(rules_.size()));
    if (fresh) problem.rules.push_back(rule);
    return found->second;
  }

  /// A group is spread over nodes as soon as one of its members says so; the smallest max_moving of
  /// its members applies.
  std::uint32_t group_of(const Constraints& constraints) {
    const auto [found, fresh] =
        groups_.try_emplace(*constraints.group, static_cast<std::uint32_t>(groups_.size()));
    if (fresh) problem.groups.push_back({*constraints.group, false, std::nullopt});
    PlanGroup& group = problem.groups[found->second];
    group.over_nodes |= constraints.spread_over_nodes;
    if (constraints.max_moving)
      group.max_moving =
          std::min(group.max_moving.value_or(*constraints.max_moving), *constraints.max_moving);
    return found->second;
  }

  void name_places() {
    if (!gpu_names_.empty()) return;
    for (std::size_t i = 0; i < problem.gpus.size(); ++i)
      gpu_names_.emplace(problem.gpus[i].name, static_cast<std::uint32_t>(i));
    for (std::size_t i = 0; i < problem.nodes.size(); ++i)
      node_names_.emplace(problem.nodes[i], static_cast<std::uint32_t>(i));
  }

  /// A GPU, else a node.
  std::pair<std::uint32_t, std::uint32_t> find_place(const std::string& name,
                                                     const std::string& where) {
    if (const auto gpu = gpu_names_.find(name); gpu != gpu_names_.end()) return {gpu->second, none};
    if (const auto node = node_names_.find(name); node != node_names_.end())
      return {none, node->second};
    auto known = names_of(problem.gpus);
    for (const std::string_view node : problem.nodes)
      if (!gpu_names_.contains(node)) known.emplace_back(node);
    refuse(where, fmt::format("the fleet has no GPU and no node '{}'", shown(name)),
           suggestion(name, known));
    return {none, none};
  }

  MemorySlices size_of(const ResolvedRequest& request) const {
    std::optional<MemorySlices> least;
    for (std::size_t kind = 0; kind < problem.graphs.size(); ++kind)
      for (const PlacementId id : request.candidates[kind]) {
        const MemorySlices memory = problem.graphs[kind]->geometry()[id].profile->memory;
        if (!least || memory < *least) least = memory;
      }
    return least.value_or(MemorySlices{0});
  }

  const FleetFile& file_;
  std::string place_;
  RequestTable table_;
  std::optional<Error> error_;
  std::vector<std::size_t> order_;  // of the instances of one GPU
  std::unordered_map<std::string_view, RequestId> by_profile_;
  std::unordered_map<std::string_view, std::uint32_t> gpu_names_, node_names_;
  std::map<PlanRule, std::uint32_t> rules_;
  std::map<std::string, std::uint32_t> groups_;
};

Result<PlanProblem> PlanProblem::make(const FleetFile& file, ProblemKind kind,
                                      const std::string& place) {
  return ProblemBuilder(file, kind, place).build();
}

bool PlanProblem::allows(WorkloadIndex workload, GpuId gpu) const {
  const std::uint32_t number = workloads[workload].rule;
  if (number == none) return true;
  const PlanRule& rule = rules[number];
  const auto here = static_cast<std::uint32_t>(index(gpu));
  const std::uint32_t node = gpus[here].node;
  if (rule.pin_gpu != none && rule.pin_gpu != here) return false;
  if (rule.pin_node != none && rule.pin_node != node) return false;
  return !sorted_contains(rule.forbidden_gpus, here) &&
         !sorted_contains(rule.forbidden_nodes, node);
}

void PlanProblem::also_wants(WorkloadIndex workload, std::size_t gpu_kind, PlacementId placement) {
  PlanWorkload& work = workloads[workload];
  if (wanted(workload, gpu_kind).contains(placement)) return;
  const Geometry& geometry = graphs[gpu_kind]->geometry();
  ResolvedRequest wider = requests[index(work.request)];
  wider.candidates[gpu_kind] =
      wider.candidates[gpu_kind] | geometry.of_profile(geometry[placement].profile_index);
  const MemorySlices size =
      std::min(sizes_[index(work.request)], geometry[placement].profile->memory);
  work.request = static_cast<RequestId>(requests.size());
  requests.push_back(std::move(wider));
  sizes_.push_back(size);
}

MemorySlices PlanProblem::size(WorkloadIndex workload) const {
  return sizes_[index(workloads[workload].request)];
}

Goal goal_of_now(const PlanProblem& problem) {
  Goal goal;
  goal.reserve(problem.workloads.size());
  for (const PlanWorkload& workload : problem.workloads) goal.push_back(workload.now);
  return goal;
}

namespace {

std::string workload_text(const PlanProblem& problem, WorkloadIndex workload) {
  return fmt::format("workload '{}'", shown(problem.workloads[workload].name));
}

/// What is wrong with one workload's seat, checked by itself.
std::string flaw_of_seat(const PlanProblem& problem, WorkloadIndex workload, Seat seat) {
  const PlanWorkload& work = problem.workloads[workload];
  const std::string_view gpu = problem.gpus[index(seat.gpu)].name;
  if (work.stays)
    return work.now == seat
               ? ""
               : fmt::format("{} must stay where it is", workload_text(problem, workload));
  if (!problem.wanted(workload, problem.gpus[index(seat.gpu)].kind).contains(seat.placement))
    return fmt::format("{} did not ask for its placement on {}", workload_text(problem, workload),
                       gpu);
  if (!problem.allows(workload, seat.gpu))
    return fmt::format("{} is kept off {}", workload_text(problem, workload), gpu);
  return "";
}

}  // namespace

std::optional<WorkloadIndex> evicted(const PlanProblem& problem, const Goal& goal) {
  for (WorkloadIndex i = 0; i < goal.size(); ++i)
    if (!goal[i] && problem.workloads[i].now) return i;
  return std::nullopt;
}

std::string flaw(const PlanProblem& problem, const Goal& goal) {
  std::vector<PlacementSet> taken;
  for (const PlanGpu& gpu : problem.gpus) taken.push_back(gpu.walls);
  // For each group in each domain: how many members are there, and whether one of them could leave.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<int, bool>> members;
  std::int64_t moves = 0, moved_mib = 0;
  for (WorkloadIndex workload = 0; workload < goal.size(); ++workload) {
    const PlanWorkload& work = problem.workloads[workload];
    if (work.now && goal[workload] != work.now) {
      ++moves;
      moved_mib += work.moved_mib;
    }
    if (!goal[workload]) {
      if (work.stays)
        return fmt::format("{} must stay and has no seat", workload_text(problem, workload));
      if (work.now && !problem.may_evict)
        return fmt::format("{} runs and has no seat", workload_text(problem, workload));
      continue;
    }
    const Seat seat = *goal[workload];
    if (std::string wrong = flaw_of_seat(problem, workload, seat); !wrong.empty()) return wrong;
    PlacementSet& here = taken[index(seat.gpu)];
    if (here.contains(seat.placement))
      return fmt::format("two workloads share an instance of {}",
                         problem.gpus[index(seat.gpu)].name);
    here.insert(seat.placement);
    // Work that stays together against its own rule is not the plan's fault; a newcomer beside it
    // is.
    if (work.rule != none && problem.rules[work.rule].group != none) {
      const std::uint32_t group = problem.rules[work.rule].group;
      auto& [count, free] = members[{group, problem.domain(group, seat.gpu)}];
      free = free || !work.stays;
      if (count > 0 && free)
        return fmt::format("two of group '{}' share {}", shown(problem.groups[group].name),
                           problem.gpus[index(seat.gpu)].name);
      ++count;
    }
  }
  for (std::size_t gpu = 0; gpu < taken.size(); ++gpu)
    if (!problem.graph(static_cast<GpuId>(gpu)).geometry().legal(taken[gpu]))
      return fmt::format("the layout of {} is not legal", problem.gpus[gpu].name);
  if (problem.limits.migrations && moves > *problem.limits.migrations)
    return "it moves more than allowed";
  if (problem.limits.moved_mib && moved_mib > *problem.limits.moved_mib)
    return "it moves more memory than allowed";
  return "";
}

Seating::Seating(const PlanProblem& problem)
    : problem_(&problem), goal_(problem.workloads.size()), occupied_(problem.gpus.size(), 0) {
  for (std::size_t gpu = 0; gpu < problem.gpus.size(); ++gpu)
    occupied_[gpu] = problem.graphs[problem.gpus[gpu].kind]->find(problem.gpus[gpu].walls);
}

Seating Seating::of_what_stays(const PlanProblem& problem) {
  Seating seating(problem);
  for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i)
    if (problem.workloads[i].stays) seating.seat(i, *problem.workloads[i].now);
  return seating;
}

Seating Seating::of_now(const PlanProblem& problem) {
  Seating seating(problem);
  for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i)
    if (problem.workloads[i].now) seating.seat(i, *problem.workloads[i].now);
  return seating;
}

std::uint64_t Seating::place_of(std::uint32_t group, GpuId gpu) const {
  return std::uint64_t{group} << 32 | problem_->domain(group, gpu);
}

bool Seating::allowed(WorkloadIndex workload, GpuId gpu) const {
  const std::uint32_t rule = problem_->workloads[workload].rule;
  if (rule == none) return true;
  if (!problem_->allows(workload, gpu)) return false;
  const std::uint32_t group = problem_->rules[rule].group;
  if (group == none) return true;
  const auto found = members_.find(place_of(group, gpu));
  return found == members_.end() || found->second == 0;
}

PlacementSet Seating::places(WorkloadIndex workload, GpuId gpu) const {
  if (!allowed(workload, gpu)) return {};
  const std::uint16_t kind = problem_->gpus[index(gpu)].kind;
  return problem_->wanted(workload, kind) & problem_->graphs[kind]->free(occupied_[index(gpu)]);
}

void Seating::seat(WorkloadIndex workload, Seat where) {
  StateId& state = occupied_[index(where.gpu)];
  state = problem_->graph(where.gpu).add(state, where.placement);
  assert(state != no_state && !goal_[workload]);
  goal_[workload] = where;
  const std::uint32_t rule = problem_->workloads[workload].rule;
  if (rule != none && problem_->rules[rule].group != none)
    ++members_[place_of(problem_->rules[rule].group, where.gpu)];
}

void Seating::unseat(WorkloadIndex workload) {
  const Seat where = *goal_[workload];
  goal_[workload].reset();
  StateId& state = occupied_[index(where.gpu)];
  state = problem_->graph(where.gpu).remove(state, where.placement);
  const std::uint32_t rule = problem_->workloads[workload].rule;
  if (rule != none && problem_->rules[rule].group != none)
    --members_[place_of(problem_->rules[rule].group, where.gpu)];
}

}  // namespace cleave
