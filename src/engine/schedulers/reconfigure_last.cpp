#include "engine/schedulers/reconfigure_last.hpp"

#include <algorithm>

namespace cleave {

namespace {

template <class Of>
Duration largest(std::span<const ActiveJob> active, Of of) {
  return of(*std::ranges::max_element(active, {}, of));
}

Duration waiting_cost(Instant now, std::span<const ActiveJob> active, const WaitingJob& waiting,
                      WaitingCost reading) {
  if (active.empty()) return {};
  const auto spent = [&](const ActiveJob& job) { return now - job.start; };
  if (reading == WaitingCost::literal)
    return largest(active, [](const ActiveJob& job) { return job.jct; }) -
           largest(active, [&](const ActiveJob& job) { return spent(job) + job.penalty; });
  const Duration remaining = largest(active, [&](const ActiveJob& job) {
    return std::max(Duration::zero(), job.jct - spent(job));
  });
  const bool late = waiting.deadline && now + remaining + waiting.jct > *waiting.deadline;
  return remaining + (late ? waiting.penalty : Duration::zero());
}

bool all_meet_deadlines(Instant start, std::span<const ActiveJob> active) {
  return std::ranges::all_of(active, [&](const ActiveJob& job) {
    return !job.deadline || start + job.jct <= *job.deadline;
  });
}

/// With both costs known.
ReconfigureDecision decide(Instant now, std::span<const ActiveJob> active,
                           const ReconfigureOptions& options, ReconfigureDecision decision) {
  decision.deadlines_met = all_meet_deadlines(now, active);
  decision.deadlines_met_with_overhead = all_meet_deadlines(now + options.alpha, active);
  const bool below = decision.reconfigure_cost - decision.waiting_cost <= options.beta;
  const bool worth = options.condition == CostCondition::text ? below : !below;
  decision.reconfigure =
      worth && (options.overhead_before_deadline ? decision.deadlines_met_with_overhead
                                                 : decision.deadlines_met);
  return decision;
}

}  // namespace

ReconfigureDecision weigh_reconfiguration(Instant now, std::span<const ActiveJob> active,
                                          const WaitingJob& waiting,
                                          const ReconfigureOptions& options) {
  ReconfigureDecision costs;
  costs.reconfigure_cost = options.alpha;
  if (!active.empty())
    costs.reconfigure_cost +=
        largest(active, [&](const ActiveJob& job) { return now - job.start; });
  costs.waiting_cost = waiting_cost(now, active, waiting, options.waiting_cost);
  return decide(now, active, options, costs);
}

ReconfigureDecision weigh_every_loss(Instant now, std::span<const ActiveJob> active,
                                     std::span<const WaitingJob> waiting,
                                     const ReconfigureOptions& options) {
  ReconfigureDecision costs;
  const auto jobs = static_cast<std::int64_t>(active.size() + waiting.size());
  costs.reconfigure_cost = options.alpha * jobs;
  for (const ActiveJob& job : active) costs.reconfigure_cost += now - job.start;
  for (const WaitingJob& job : waiting) {
    const bool late = job.deadline && now + job.otherwise + job.jct > *job.deadline;
    costs.waiting_cost += job.otherwise + (late ? job.penalty : Duration::zero());
  }
  return decide(now, active, options, costs);
}

}  // namespace cleave
