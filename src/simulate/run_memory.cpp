#include "simulate/run_memory.hpp"

#include <algorithm>

#include "physics/instance_sharing.hpp"

namespace cleave {

std::optional<MiB> RunMemory::capacity(JobId process, const JobRun& run) const {
  if (run.mode == RunMode::whole) return geometry(run).model().largest().usable;
  if (run.mode == RunMode::shared) return left_by_others_.at(process);
  return geometry(run)[run.placement].profile->usable;
}

/// Those that are there keep what they need at most, and each process has its context.
std::optional<MiB> RunMemory::left_by_others(const JobRun& run, const JobRuns& runs) const {
  const auto usable = geometry(run)[run.placement].profile->usable;
  if (!usable) return std::nullopt;
  MiB taken;
  int processes = 1;
  for (const JobId id : rates_->jobs_on(run.gpu)) {
    const JobRun& other = *runs.find(id);
    if (other.mode != RunMode::shared || other.placement != run.placement) continue;
    taken += truth_->most_held(index(processes_->job_of(id))).value_or(MiB{0});
    ++processes;
  }
  const SharingMode mode = world_->sharing(run.gpu, run.placement);
  return std::max(MiB{0}, *usable - taken - sharing_memory(mode, processes));
}

/// The first time what it had; then it needs as much as it would have alone (usable_alone), and if
/// that was not enough either, others need more than they said: each time it is the next size.
std::optional<MiB> RunMemory::had_beside_others(JobId process, const JobRun& run,
                                                const ResolvedRequest& asked) const {
  const auto had = capacity(process, run);
  if (!asked.request.at_least) return had;
  const auto alone = usable_alone(asked, (*world_)[run.gpu].kind, geometry(run));
  const auto here = geometry(run)[run.placement].profile->usable;
  return alone && here ? std::max(had, std::optional(std::min(*alone, *here))) : had;
}

std::optional<MiB> RunMemory::had(JobId process, const JobRun& run,
                                  const ResolvedRequest& asked) const {
  if (run.mode == RunMode::whole) return std::nullopt;
  return run.mode == RunMode::shared ? had_beside_others(process, run, asked)
                                     : capacity(process, run);
}

namespace {

/// Of a lease that shrinks: what it holds while it is idle. Where no larger
/// instance is free when its work begins, it stays on so small a one. `details` may be null.
std::optional<MiB> least_memory(const JobDetails* details) {
  if (details == nullptr || !details->lease) return std::nullopt;
  const LeaseTerms& lease = *details->lease;
  return lease.then == LeaseTerms::Then::shrink ? lease.idle_memory : std::nullopt;
}

}  // namespace

double RunMemory::dies_at(JobId process, const JobRun& run, double speed) const {
  if (!(speed > 0)) return run.done;
  const JobId id = processes_->job_of(process);
  const Job& job = workload_->jobs[index(id)];
  const auto* size = std::get_if<BySize>(&workload_->requests[job.request].wanted);
  const bool grows = truth_->grows(job);
  if (size == nullptr && !grows) return beyond_its_work;
  const auto has = capacity(process, run);
  if (!has) return beyond_its_work;
  if (grows) {
    const auto all = static_cast<double>(truth_->iterations(job));
    const auto from = static_cast<std::int64_t>(run.done * all) + 1;
    const auto beyond = truth_->first_beyond(index(id), *has, from);
    return beyond ? std::max(run.done, static_cast<double>(*beyond - 1) / all) : beyond_its_work;
  }
  const bool fits = least_memory(workload_->details_of(job)).value_or(size->memory) <= *has ||
                    rates_->table().host_memory(job, has);
  return fits ? beyond_its_work : run.done;
}

}  // namespace cleave
