#include "planner/planned_moves.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

Result<std::vector<PlannedMove>> planned_moves(const PlanProblem& problem, const Moves& moves,
                                               std::span<const std::string> uuids) {
  const auto place = [&](Seat seat) {
    const Placement& where = problem.placement(seat);
    return PlannedPlace{uuids[index(seat.gpu)], std::string(where.profile->name), where.start};
  };
  std::vector<PlannedMove> all;
  Goal at = goal_of_now(problem);
  for (std::size_t wave = 0; wave < moves.waves.size(); ++wave)
    for (const Step& step : moves.waves[wave]) {
      if (step.op != Op::start && step.op != Op::stop) continue;
      const PlanWorkload& work = problem.workloads[step.workload];
      if (step.op == Op::stop)
        return fail(ErrorKind::infeasible, shown(work.name), "the plan would stop it",
                    "plan without what may be interrupted or evicted");
      if (!work.now) continue;
      const auto job = job_of_workload(work.name);
      if (!job)
        return fail(ErrorKind::bad_input, shown(work.name), "it is not a job of the daemon");
      PlannedMove move;
      move.wave = static_cast<std::int64_t>(wave) + 1;
      move.job = *job;
      move.from = place(*at[step.workload]);
      move.to = place(step.seat);
      at[step.workload] = step.seat;
      all.push_back(std::move(move));
    }
  return all;
}

}  // namespace cleave
