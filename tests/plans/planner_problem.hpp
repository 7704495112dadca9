#pragma once
// A problem given to the planner itself: the only bridge between its types and those of these
// checks.

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "model/fleet_file.hpp"
#include "planner/moves/moves.hpp"
#include "planner/problem.hpp"
#include "replay.hpp"
#include "scene.hpp"

namespace cleave::plans {

/// The planner's problem with the fleet that it points into.
struct PlannerProblem {
  FleetFile file;  // the problem points into it
  PlanProblem problem;

  static Result<std::unique_ptr<PlannerProblem>> make(const Question& question) {
    auto fleet = parse_fleet(question.fleet, "fleet", {});
    if (!fleet) return std::unexpected(fleet.error());
    auto made = std::make_unique<PlannerProblem>();
    made->file = std::move(*fleet);
    constexpr ProblemKind kinds[] = {ProblemKind::deploy, ProblemKind::compact,
                                     ProblemKind::reconfigure, ProblemKind::joint};
    const ProblemKind kind = kinds[static_cast<std::size_t>(question.task)];
    auto problem = PlanProblem::make(made->file, kind, "fleet");
    if (!problem) return std::unexpected(problem.error());
    made->problem = std::move(*problem);
    made->problem.limits = {question.max_migrations, question.max_moved_mib};
    made->problem.may_evict = question.may_evict;
    return made;
  }

  [[nodiscard]] WorkloadIndex index_of(std::string_view workload) const {
    const auto at = std::ranges::find(problem.workloads, workload, &PlanWorkload::name);
    return static_cast<WorkloadIndex>(at - problem.workloads.begin());
  }

  /// The seats in the planner's own terms.
  [[nodiscard]] Goal goal(const Scene& scene, const Seats& seats) const {
    Goal goal(seats.size());
    for (std::size_t i = 0; i < seats.size(); ++i) {
      if (!seats[i]) continue;
      const auto gpu = static_cast<GpuId>(seats[i]->gpu);
      const auto placement =
          problem.geometry(gpu).find(*seats[i]->instance.profile, seats[i]->instance.start);
      goal[index_of(scene.works[i].name)] = Seat{gpu, placement.value()};
    }
    return goal;
  }
};

/// Moves and their end, from the planner's types into those of the checks and back.
class Terms {
 public:
  Terms(const Scene& scene, const PlannerProblem& planner) : planner_(planner) {
    std::unordered_map<std::string_view, std::size_t> works;
    for (std::size_t i = 0; i < scene.works.size(); ++i) works.emplace(scene.works[i].name, i);
    for (const PlanWorkload& each : planner.problem.workloads)
      works_.push_back(works.at(each.name));
  }

  /// The work of a scene for a workload of the problem.
  [[nodiscard]] std::size_t work(WorkloadIndex workload) const { return works_[workload]; }

  [[nodiscard]] Position position(Seat seat) const {
    const Placement& placement = planner_.problem.placement(seat);
    return {index(seat.gpu), {placement.profile, placement.start}};
  }

  [[nodiscard]] std::vector<Wave> waves(const Moves& moves) const {
    constexpr Op ops[] = {Op::destroy, Op::create, Op::start, Op::drain, Op::stop};
    std::vector<Wave> waves;
    for (const cleave::Wave& each : moves.waves) {
      Wave& wave = waves.emplace_back();
      for (const cleave::Step& step : each) {
        const auto op = std::ranges::find(ops, name(step.op), [](Op known) { return name(known); });
        wave.push_back({*op, position(step.seat), {}});
        if (step.workload != none) wave.back().work = work(step.workload);
      }
    }
    return waves;
  }

  [[nodiscard]] End end(const Target& target) const {
    End end{Seats(works_.size()), std::vector<std::vector<Instance>>(target.idle.size())};
    for (WorkloadIndex i = 0; i < target.goal.size(); ++i)
      if (target.goal[i]) end.seats[work(i)] = position(*target.goal[i]);
    for (std::size_t gpu = 0; gpu < target.idle.size(); ++gpu)
      for (const PlacementId id : target.idle[gpu])
        end.idle[gpu].push_back(position({static_cast<GpuId>(gpu), id}).instance);
    return end;
  }

  [[nodiscard]] Target target(const End& end) const {
    Target target{Goal(works_.size()), std::vector<PlacementSet>(end.idle.size())};
    const auto placement = [&](std::size_t gpu, const Instance& instance) {
      return planner_.problem.geometry(static_cast<GpuId>(gpu))
          .find(*instance.profile, instance.start)
          .value();
    };
    for (WorkloadIndex i = 0; i < works_.size(); ++i)
      if (const auto& seat = end.seats[work(i)])
        target.goal[i] = Seat{static_cast<GpuId>(seat->gpu), placement(seat->gpu, seat->instance)};
    for (std::size_t gpu = 0; gpu < end.idle.size(); ++gpu)
      for (const Instance& each : end.idle[gpu]) target.idle[gpu].insert(placement(gpu, each));
    return target;
  }

 private:
  const PlannerProblem& planner_;
  std::vector<std::size_t> works_;
};

}  // namespace cleave::plans
