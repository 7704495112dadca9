#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "planner/moves/moves.hpp"

namespace cleave {

namespace {

/// Carries out steps on the fleet of a problem, one after the other, and refuses illegal ones.
class Replay {
 public:
  explicit Replay(const PlanProblem& problem) : problem_(problem), held_(problem.gpus.size()) {
    for (auto& gpu : held_) gpu.fill(none);
    for (const PlanGpu& gpu : problem.gpus) {
      walls_.push_back(gpu.walls);
      exists_.push_back(gpu.walls | gpu.idle);
    }
    in_use_ = walls_;
    seats_.assign(problem.workloads.size(), 0);
    for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i)
      if (const auto& now = problem.workloads[i].now) {
        exists_[index(now->gpu)].insert(now->placement);
        take(*now, i);
      }
  }

  /// Empty if the step is legal; it is then carried out.
  std::string take_step(const Step& step, PlacementSet in_use_before) {
    const Geometry& geometry = problem_.geometry(step.seat.gpu);
    PlacementSet& exists = exists_[index(step.seat.gpu)];
    auto& held = held_[index(step.seat.gpu)];
    const PlacementId id = step.seat.placement;
    const bool idle =
        exists.contains(id) && held[id] == none && !walls_[index(step.seat.gpu)].contains(id);
    switch (step.op) {
      case Op::destroy:
        if (!idle) return "only an idle instance of ours may be destroyed";
        exists.erase(id);
        return "";
      case Op::create: {
        PlacementSet after = exists;
        after.insert(id);
        if (exists.contains(id) || !geometry.legal(after))
          return "there is no room for a new instance";
        if (geometry.blocked(in_use_before).contains(id))
          return "its slices were in use when the wave began";
        exists = after;
        return "";
      }
      case Op::start:
        if (!idle) return "work may start on an idle instance only";
        take(step.seat, step.workload);
        return "";
      case Op::drain:
      case Op::stop: {
        if (held[id] == none || held[id] != step.workload) return "it does not run there";
        const PlanWorkload& work = problem_.workloads[step.workload];
        if (work.stays) return "it must stay where it is";
        if (step.op == Op::drain && seats_[step.workload] < 2) return "there is no replica of it";
        held[id] = none;
        in_use_[index(step.seat.gpu)].erase(id);
        --seats_[step.workload];
        return "";
      }
    }
    return "";
  }

  /// Walls and work on each GPU.
  [[nodiscard]] const std::vector<PlacementSet>& in_use() const { return in_use_; }

  [[nodiscard]] bool ends_in(const Target& target) const {
    for (WorkloadIndex i = 0; i < seats_.size(); ++i) {
      const auto& seat = target.goal[i];
      if (seats_[i] != (seat ? 1 : 0)) return false;
      if (seat && held_[index(seat->gpu)][seat->placement] != i) return false;
    }
    for (std::size_t gpu = 0; gpu < in_use_.size(); ++gpu)
      if (exists_[gpu] - in_use_[gpu] != target.idle[gpu]) return false;
    return true;
  }

 private:
  void take(Seat seat, WorkloadIndex workload) {
    held_[index(seat.gpu)][seat.placement] = workload;
    in_use_[index(seat.gpu)].insert(seat.placement);
    ++seats_[workload];
  }

  const PlanProblem& problem_;
  std::vector<PlacementSet> walls_, exists_, in_use_;
  std::vector<std::array<WorkloadIndex, PlacementSet::most>>
      held_;                // by placement: which workload runs there
  std::vector<int> seats_;  // of each workload: one, or two while a replica takes over
};

}  // namespace

namespace {

/// More members of a group in motion in one wave than the group allows. `down`: members that were
/// stopped and do not run again yet. Work that is new or ends is not in motion.
std::string too_many_moving(const PlanProblem& problem, const Moves& moves, const Wave& wave,
                            std::set<WorkloadIndex>& down) {
  const auto limited = [](const PlanGroup& group) { return group.max_moving.has_value(); };
  if (std::ranges::none_of(problem.groups, limited)) return "";
  const auto counts = [&](WorkloadIndex i) {
    return problem.workloads[i].now && moves.reached.goal[i];
  };
  std::set<WorkloadIndex> moving = down;
  for (const Step& step : wave)
    if (step.workload != none && step.op != Op::create && counts(step.workload))
      moving.insert(step.workload);
  std::map<std::uint32_t, int> of_group;
  for (const WorkloadIndex i : moving)
    if (const std::uint32_t rule = problem.workloads[i].rule;
        rule != none && problem.rules[rule].group != none)
      ++of_group[problem.rules[rule].group];
  for (const Step& step : wave) {
    if (step.op == Op::stop && counts(step.workload)) down.insert(step.workload);
    if (step.op == Op::start) down.erase(step.workload);
  }
  for (const auto& [group, count] : of_group)
    if (const auto most = problem.groups[group].max_moving; most && count > *most)
      return fmt::format("{} of group '{}' are in motion, {} may be", count,
                         shown(problem.groups[group].name), *most);
  return "";
}

}  // namespace

std::string fault(const PlanProblem& problem, const Moves& moves) {
  std::set<WorkloadIndex> down;
  Replay replay(problem);
  for (std::size_t wave = 0; wave < moves.waves.size(); ++wave) {
    const std::vector<PlacementSet> before = replay.in_use();
    if (moves.waves[wave].empty()) return fmt::format("wave {}: nothing happens in it", wave + 1);
    if (const std::string wrong = too_many_moving(problem, moves, moves.waves[wave], down);
        !wrong.empty())
      return fmt::format("wave {}: {}", wave + 1, wrong);
    for (const Step& step : moves.waves[wave]) {
      const std::string wrong = replay.take_step(step, before[index(step.seat.gpu)]);
      if (!wrong.empty())
        return fmt::format("wave {}: {} {} on {}: {}", wave + 1, name(step.op),
                           problem.placement(step.seat).profile->name,
                           problem.gpus[index(step.seat.gpu)].name, wrong);
    }
  }
  return replay.ends_in(moves.reached) ? "" : "the waves do not end where they should";
}

}  // namespace cleave
