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
    seats_.resize(problem.workloads.size());
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
        if (step.op == Op::drain && seats_[step.workload].size() < 2)
          return "there is no replica of it";
        held[id] = none;
        std::erase(seats_[step.workload], step.seat);
        return "";
      }
    }
    return "";
  }

  [[nodiscard]] std::vector<PlacementSet> in_use() const {
    std::vector<PlacementSet> sets = walls_;
    for (std::size_t gpu = 0; gpu < held_.size(); ++gpu)
      for (PlacementId id = 0; id < PlacementSet::most; ++id)
        if (held_[gpu][id] != none) sets[gpu].insert(id);
    return sets;
  }

  [[nodiscard]] bool ends_in(const Target& target) const {
    for (WorkloadIndex i = 0; i < seats_.size(); ++i) {
      if (seats_[i].size() != (target.goal[i] ? 1U : 0U)) return false;
      if (target.goal[i] && seats_[i].front() != *target.goal[i]) return false;
    }
    const std::vector<PlacementSet> used = in_use();
    for (std::size_t gpu = 0; gpu < used.size(); ++gpu)
      if (exists_[gpu] - used[gpu] != target.idle[gpu]) return false;
    return true;
  }

 private:
  void take(Seat seat, WorkloadIndex workload) {
    held_[index(seat.gpu)][seat.placement] = workload;
    seats_[workload].push_back(seat);
  }

  const PlanProblem& problem_;
  std::vector<PlacementSet> walls_, exists_;
  std::vector<std::array<WorkloadIndex, PlacementSet::most>>
      held_;  // by placement: which workload runs there
  std::vector<std::vector<Seat>> seats_;
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
