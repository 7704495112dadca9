#pragma once
// A question put to the planner itself: the only bridge between its types and those of the checks here.

#include <algorithm>
#include <memory>

#include "model/fleet_file.hpp"
#include "planner/problem.hpp"
#include "scene.hpp"

namespace cleave::plans {

struct PlannerProblem {
  FleetFile file;  // the problem points into it
  PlanProblem problem;

  static Result<std::unique_ptr<PlannerProblem>> make(const Question& question) {
    auto fleet = parse_fleet(question.fleet, "fleet", {});
    if (!fleet) return std::unexpected(fleet.error());
    auto made = std::make_unique<PlannerProblem>();
    made->file = std::move(*fleet);
    auto problem = PlanProblem::make(made->file, *parse_problem_kind(name(question.task)), "fleet");
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

}  // namespace cleave::plans
