#include "planner/plan_order.hpp"

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "planner/planned_moves.hpp"

namespace cleave {

namespace {

Duration scaled(Duration time, std::optional<double> factor) {
  return factor ? std::chrono::duration_cast<Duration>(time * *factor) : time;
}

}  // namespace

PlanTime expected_time(const PlanProblem& problem, const Plan& plan,
                       std::span<const PlannedMove> moves, const NodeTimes& times) {
  PlanTime time;
  for (const WaveCost& wave : cost_of(problem, plan.moves.waves))
    time.changes +=
        scaled(wave.make_room + wave.clean_up, times.destroys) + scaled(wave.create, times.creates);
  std::map<std::int64_t, std::pair<Duration, Duration>> waves;
  for (const PlannedMove& move : moves) {
    const auto job = std::ranges::find(times.jobs, move.job, &JobMoveTimes::job);
    if (job == times.jobs.end()) continue;
    auto& [saves, starts] = waves[move.wave];
    if (job->saves_first) saves = std::max(saves, job->saves);
    starts = std::max(starts, job->starts);
  }
  for (const auto& [wave, longest] : waves) {
    time.saving += longest.first;
    time.starting += longest.second;
  }
  return time;
}

Result<PlanOrder> plan_order(const PlanProblem& problem, const Plan& plan,
                             std::span<const std::string> uuids, const NodeTimes& times) {
  auto moves = planned_moves(problem, plan.moves, uuids);
  if (!moves) return std::unexpected(moves.error());
  if (std::ssize(*moves) > most_moves)
    return fail(ErrorKind::infeasible, "the plan",
                fmt::format("it has {} moves, and {} at most are carried out at a time",
                            moves->size(), most_moves),
                fmt::format("plan with --max-migrations {}", most_moves / 2));
  PlanOrder order;
  order.kind = std::string(name(problem.kind));
  order.moves = std::move(*moves);
  order.expected = expected_time(problem, plan, order.moves, times).all();
  return order;
}

}  // namespace cleave
