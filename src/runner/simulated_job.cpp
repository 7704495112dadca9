#include "runner/simulated_job.hpp"

#include <cassert>

namespace cleave {

namespace {

/// Waits for the iteration's time; false if the job was asked to stop.
Result<bool> iterate(Duration time, std::int64_t done, JobDoors& doors) {
  while (true) {
    const Worked worked = doors.work(time);
    if (worked.request == SimulatedJobRequest::none) return true;
    if (const auto kept = doors.keep(done); !kept) return std::unexpected(kept.error());
    if (worked.request == SimulatedJobRequest::stop) return false;
    time = worked.left;
  }
}

}  // namespace

MiB memory_during(const SimulatedJobPlan& plan, std::int64_t iteration) {
  return held_during(plan.memory, plan.seed, 0, iteration);
}

Result<SimulatedJobOutcome> run_simulated_job(const SimulatedJobPlan& plan, double speed,
                                              std::int64_t done, JobDoors& doors) {
  assert(speed > 0 && plan.memory.iterations >= 1);
  const std::int64_t iterations = plan.memory.iterations;
  const auto each =
      duration_from_seconds(in_seconds(plan.work) / speed / static_cast<double>(iterations));
  if (!each) return std::unexpected(each.error());
  SimulatedJobOutcome outcome;
  outcome.done = done;
  while (outcome.done < iterations) {
    const std::int64_t iteration = outcome.done + 1;
    const MiB wanted = memory_during(plan, iteration);
    const auto held = doors.hold(wanted);
    if (!held) return std::unexpected(held.error());
    if (!*held) {
      outcome.end = SimulatedJobOutcome::End::out_of_memory;
      outcome.wanted = wanted;
      return outcome;
    }
    outcome.held = wanted;
    const auto through = iterate(*each, outcome.done, doors);
    if (!through) return std::unexpected(through.error());
    if (!*through) {
      outcome.end = SimulatedJobOutcome::End::stopped;
      return outcome;
    }
    outcome.done = iteration;
    doors.report(report_of(plan.memory, plan.seed, 0, iteration));
  }
  return outcome;
}

}  // namespace cleave
