#include "study/reproduce/corun_runs.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave {

std::vector<CorunJob> equal_jobs(int count, const CorunJob& job) {
  return std::vector<CorunJob>(static_cast<std::size_t>(count), job);
}

Result<CorunOutcome> run_jobs(std::string_view gpu, std::string_view scheduler,
                              const std::vector<CorunJob>& jobs, const SimulationOptions& options) {
  const auto fleet = parse_fleet_in_short(fmt::format("1x{}", gpu), ProfileChoice());
  if (!fleet) return std::unexpected(fleet.error());
  const auto spec = parse_scheduler(scheduler);
  if (!spec) return std::unexpected(spec.error());
  Workload workload;
  for (const CorunJob& each : jobs) {
    const auto duration = duration_from_seconds(each.seconds);
    if (!duration) return std::unexpected(duration.error());
    Job job;
    job.id = fmt::format("{}", workload.jobs.size() + 1);
    job.duration = *duration;
    Request request{BySize{MiB{1}, {}}, {}};
    if (!each.profile.empty()) request.wanted = ByProfile{each.profile};
    job.request = workload.intern(request);
    job.speed = workload.intern(each.speed);
    workload.jobs.push_back(std::move(job));
  }
  workload.read = workload.jobs.size();
  std::vector<JobOutcome> outcomes;
  SimulationOptions run = options;
  run.outcomes = &outcomes;
  const auto summary = simulate(*fleet, workload, *spec, run);
  if (!summary) return std::unexpected(summary.error());
  if (summary->finished != jobs.size())
    return fail(ErrorKind::internal, std::string(scheduler),
                fmt::format("only {} of {} jobs finished", summary->finished, jobs.size()));
  CorunOutcome outcome{in_seconds(summary->makespan),
                       summary->energy_j.value_or(0),
                       summary->power_peak_w.value_or(0),
                       {}};
  for (const JobOutcome& job : outcomes) outcome.execution_s.push_back(in_seconds(job.execution));
  return outcome;
}

}  // namespace cleave
