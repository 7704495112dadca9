#include "planner/moves/move_state.hpp"

#include <algorithm>
#include <bit>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr int most_temporaries = 2;  // of one workload

}  // namespace

MoveState::MoveState(const PlanProblem& problem, const Target& target, bool everybody)
    : problem_(&problem),
      target_(std::make_shared<const Target>(target)),
      here_(problem.gpus.size()),
      coming_(problem.gpus.size()),
      group_moving_(problem.groups.size(), 0),
      now_(std::make_shared<const Goal>(goal_of_now(problem))) {
  for (const PlanGpu& gpu : problem.gpus) {
    held_.push_back(gpu.walls);
    idle_.push_back(gpu.idle);
  }
  for (const auto& seat : *now_)
    if (seat) held_[index(seat->gpu)].insert(seat->placement);
  for (std::size_t gpu = 0; gpu < held_.size(); ++gpu)
    taken_.push_back(problem.graphs[problem.gpus[gpu].kind]->find(held_[gpu]));
  add_items(target, everybody);
}

void MoveState::add_items(const Target& target, bool everybody) {
  for (WorkloadIndex i = 0; i < target.goal.size(); ++i) {
    const bool elsewhere = (*now_)[i] != target.goal[i];
    if (elsewhere || (everybody && target.goal[i] && !problem_->workloads[i].stays))
      add_item({i, (*now_)[i], target.goal[i]});
  }
  for (std::size_t gpu = 0; gpu < target.idle.size(); ++gpu)
    for (const PlacementId id : target.idle[gpu] - idle_[gpu])
      add_item({none, std::nullopt, Seat{static_cast<GpuId>(gpu), id}});
}

void MoveState::add_item(MoveItem item) {
  const std::size_t number = items_.size();
  if (item.at) here_[index(item.at->gpu)].push_back(number);
  if (item.to) coming_[index(item.to->gpu)].push_back(number);
  items_.push_back(item);
  moved_.push_back(false);
  temporaries_of_.push_back(0);
  if (open(number)) ++open_;
}

/// Running work that was stopped and is to run again.
bool MoveState::interrupted(std::size_t item) const {
  const MoveItem& one = items_[item];
  return one.workload != none && (*now_)[one.workload] && !one.at && one.to;
}

std::vector<std::size_t> MoveState::blockers(std::size_t item) const {
  std::vector<std::size_t> list;
  if (!items_[item].to) return list;
  const Seat to = *items_[item].to;
  const PlacementSet conflicts = problem_->placement(to).conflicts;
  for (const std::size_t other : here_[index(to.gpu)]) {
    const PlacementId at = items_[other].at->placement;
    if (conflicts.contains(at) || at == to.placement) list.push_back(other);
  }
  return list;
}

std::uint32_t MoveState::group(std::size_t item) const {
  const WorkloadIndex workload = items_[item].workload;
  if (workload == none || problem_->workloads[workload].rule == none) return none;
  return problem_->rules[problem_->workloads[workload].rule].group;
}

int MoveState::size(std::size_t item) const {
  const auto& seat = items_[item].at ? items_[item].at : items_[item].to;
  return problem_->placement(*seat).profile->memory.value;
}

int MoveState::least_size(std::size_t item) const {
  return items_[item].workload == none ? 0 : problem_->size(items_[item].workload).value;
}

std::int64_t MoveState::moved_mib(std::size_t item) const {
  return items_[item].workload == none ? 0 : problem_->workloads[items_[item].workload].moved_mib;
}

/// Only running work that has somewhere to go; an instance without work, or new work, just waits.
bool MoveState::may_step_aside(std::size_t item) const {
  return items_[item].workload != none && items_[item].at && items_[item].to &&
         temporaries_of_[item] < most_temporaries;
}

std::int64_t MoveState::free_now_and_then() const {
  std::int64_t free = 0;
  for (std::size_t gpu = 0; gpu < held_.size(); ++gpu) {
    const Geometry& geometry = problem_->graphs[problem_->gpus[gpu].kind]->geometry();
    PlacementSet both = held_[gpu];
    for (const std::size_t item : coming_[gpu]) both.insert(items_[item].to->placement);
    free += geometry.model().memory_slices.value - std::popcount(geometry.slices(both));
  }
  return free;
}

PlacementSet MoveState::places(std::size_t item, GpuId gpu, bool avoid_targets) const {
  const WorkloadIndex workload = items_[item].workload;
  if (!problem_->allows(workload, gpu)) return {};
  const StateGraph& states = graph(gpu);
  PlacementSet free =
      problem_->wanted(workload, problem_->gpus[index(gpu)].kind) & states.free(taken_[index(gpu)]);
  if (!avoid_targets || free.empty()) return free;
  PlacementSet targets = target_->idle[index(gpu)];
  for (const std::size_t other : coming_[index(gpu)])
    if (open(other)) targets.insert(items_[other].to->placement);
  return free - states.geometry().blocked(targets);
}

void MoveState::begin_wave() {
  changes_.clear();
  std::ranges::fill(group_moving_, 0);
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (interrupted(i) && group(i) != none) ++group_moving_[group(i)];
}

bool MoveState::group_may_move(std::size_t item) const {
  const std::uint32_t of = group(item);
  if (of == none || !items_[item].at || !problem_->groups[of].max_moving)
    return true;  // new, or in motion
  return group_moving_[of] < *problem_->groups[of].max_moving;
}

bool MoveState::go(std::size_t item) {
  return items_[item].to && go_to(item, *items_[item].to);
}

bool MoveState::go_to(std::size_t item, Seat seat) {
  if (moved_[item] || !group_may_move(item)) return false;
  StateId& state = taken_[index(seat.gpu)];
  const StateId after = graph(seat.gpu).add(state, seat.placement);
  if (after == no_state) return false;
  state = after;
  record(item, seat, false);
  return true;
}

bool MoveState::step_aside(std::size_t item) {
  if (!group_may_move(item)) return false;
  const std::size_t count = problem_->gpus.size();
  const GpuId own = items_[item].at->gpu;
  // First placements on its own GPU that no item needs; then placements that are needed later.
  for (const bool avoid_targets : {true, false}) {
    for (std::size_t k = 0; k <= count; ++k) {
      const GpuId gpu = k == 0 ? own : static_cast<GpuId>((next_room_ + k - 1) % count);
      PlacementSet free = places(item, gpu, avoid_targets);
      if (items_[item].to->gpu == gpu && !avoid_targets)
        free = free - graph(gpu).geometry().blocked(PlacementSet::of(items_[item].to->placement));
      if (free.empty()) continue;
      // Among the free placements the one that leaves most room: the smallest, at the outermost
      // end.
      const auto room = [&](PlacementId id) {
        return graph(gpu).reachability(graph(gpu).add(taken_[index(gpu)], id));
      };
      PlacementId best = free.first();
      for (const PlacementId id : free)
        if (room(id) > room(best)) best = id;
      if (k > 0) next_room_ = index(gpu);
      return go_aside(item, {gpu, best});
    }
  }
  return false;
}

bool MoveState::go_aside(std::size_t item, Seat seat) {
  if (!go_to(item, seat)) return false;
  ++temporaries_;
  ++temporaries_of_[item];
  return true;
}

void MoveState::stop(std::size_t item) {
  record(item, std::nullopt, true);
}

void MoveState::record(std::size_t item, std::optional<Seat> to, bool stopped) {
  moved_[item] = true;
  const std::uint32_t of = group(item);
  if (of != none && items_[item].at && !stopped) ++group_moving_[of];
  changes_.push_back({item, items_[item].at, to, stopped});
}

/// Idle instances that cannot stand beside a new one are destroyed; one with the same placement is
/// reused.
void MoveState::make_room(Seat seat, Wave& wave) {
  const std::size_t gpu = index(seat.gpu);
  if (idle_[gpu].contains(seat.placement)) {
    idle_[gpu].erase(seat.placement);
    return;
  }
  const Geometry& geometry = problem_->geometry(seat.gpu);
  PlacementSet gone = idle_[gpu] & geometry.blocked(PlacementSet::of(seat.placement));
  // For limits on more than two instances: further idle ones are destroyed until the new one is
  // legal.
  const auto legal = [&] {
    PlacementSet after = held_[gpu] | (idle_[gpu] - gone);
    after.insert(seat.placement);
    return geometry.within_limits(after);
  };
  while (!legal() && !(idle_[gpu] - gone).empty()) gone.insert((idle_[gpu] - gone).last());
  for (const PlacementId id : gone) wave.push_back({Op::destroy, {seat.gpu, id}, none});
  idle_[gpu] = idle_[gpu] - gone;
  // Instances of the goal that gave way for a while are made again.
  for (const PlacementId id : gone & target_->idle[gpu])
    add_item({none, std::nullopt, Seat{seat.gpu, id}});
  wave.push_back({Op::create, seat, none});
}

bool MoveState::wanted_later(Seat seat) const {
  if (target_->idle[index(seat.gpu)].contains(seat.placement)) return true;
  return std::ranges::any_of(coming_[index(seat.gpu)], [&](std::size_t item) {
    return open(item) && items_[item].to == seat;
  });
}

/// An instance that stays without work; if one is to be idle in the end, it is there already.
void MoveState::leave_idle(Seat seat) {
  idle_[index(seat.gpu)].insert(seat.placement);
  for (const std::size_t item : coming_[index(seat.gpu)]) {
    if (items_[item].workload != none || !open(item) || items_[item].to != seat) continue;
    items_[item].at = seat;
    --open_;
  }
}

void MoveState::set_place(std::size_t item, std::optional<Seat> to) {
  MoveItem& moving = items_[item];
  if (moving.at) {
    std::erase(here_[index(moving.at->gpu)], item);
    held_[index(moving.at->gpu)].erase(moving.at->placement);
  }
  const bool was_open = open(item);
  moving.at = to;
  if (to) {
    here_[index(to->gpu)].push_back(item);
    held_[index(to->gpu)].insert(to->placement);
  }
  if (was_open && !open(item)) --open_;
  if (!was_open && open(item)) ++open_;
}

bool MoveState::end_wave() {
  if (changes_.empty()) return false;
  Wave room, create, start, drain, destroy, steps;
  for (const Change& change : changes_) {
    const WorkloadIndex workload = items_[change.item].workload;
    if (change.to) {
      steps.clear();
      make_room(*change.to, steps);
      for (Step& step : steps) {
        if (step.op == Op::create) step.workload = workload;
        (step.op == Op::create ? create : room).push_back(step);
      }
      if (workload != none) start.push_back({Op::start, *change.to, workload});
      // What is made for later stands idle; until the wave ends it counts as held.
      held_[index(change.to->gpu)].insert(change.to->placement);
    }
    if (change.from)
      drain.push_back({change.stopped ? Op::stop : Op::drain, *change.from, workload});
  }
  for (const Change& change : changes_) {
    const bool instance_only = items_[change.item].workload == none;
    set_place(change.item, change.to);
    if (instance_only) {
      held_[index(change.to->gpu)].erase(change.to->placement);
      std::erase(here_[index(change.to->gpu)], change.item);
      idle_[index(change.to->gpu)].insert(change.to->placement);
    }
  }
  for (const Change& change : changes_) {
    if (!change.from) continue;
    if (wanted_later(*change.from)) {
      leave_idle(*change.from);
    } else {
      destroy.push_back({Op::destroy, *change.from, none});
    }
  }
  Wave wave = std::move(room);
  for (const Wave* part : {&create, &start, &drain, &destroy})
    wave.insert(wave.end(), part->begin(), part->end());
  if (!wave.empty()) waves_.push_back(std::move(wave));
  for (const Change& change : changes_) {
    for (const auto& seat : {change.from, change.to})
      if (seat) taken_[index(seat->gpu)] = graph(seat->gpu).find(held_[index(seat->gpu)]);
    moved_[change.item] = false;
  }
  return true;
}

void MoveState::tidy() {
  Wave wave;
  for (std::size_t gpu = 0; gpu < idle_.size(); ++gpu)
    for (const PlacementId id : idle_[gpu] - target_->idle[gpu]) {
      const Seat seat{static_cast<GpuId>(gpu), id};
      if (wanted_later(seat)) continue;
      wave.push_back({Op::destroy, seat, none});
      idle_[gpu].erase(id);
    }
  if (wave.empty()) return;
  if (waves_.empty()) waves_.emplace_back();
  waves_.back().insert(waves_.back().end(), wave.begin(), wave.end());
}

Target MoveState::reached() const {
  Target reached{*now_, idle_};
  for (const MoveItem& item : items_)
    if (item.workload != none) reached.goal[item.workload] = item.at;
  return reached;
}

std::string MoveState::why_stuck(std::size_t item) const {
  const MoveItem& stuck = items_[item];
  const auto place = [&](Seat seat) {
    return fmt::format("{} at {}", problem_->gpus[index(seat.gpu)].name,
                       problem_->placement(seat).start);
  };
  std::string holders;
  bool itself = false;
  for (const std::size_t other : blockers(item)) {
    if (other == item) {
      itself = true;
      continue;
    }
    holders += fmt::format("{}'{}'", holders.empty() ? "" : ", ",
                           shown(problem_->workloads[items_[other].workload].name));
  }
  if (itself && holders.empty())
    return fmt::format(
        "its place on {} overlaps the one it has, and there is no room for it meanwhile",
        place(*stuck.to));
  if (const std::uint32_t of = group(item);
      holders.empty() && of != none && problem_->groups[of].max_moving)
    return fmt::format("group '{}' may have only {} in motion at once",
                       shown(problem_->groups[of].name), *problem_->groups[of].max_moving);
  if (holders.empty()) return "it is in the way of others, and there is no room for it meanwhile";
  return fmt::format("its place on {} is held by {}, and there is no room to step aside",
                     place(*stuck.to), holders);
}

}  // namespace cleave
