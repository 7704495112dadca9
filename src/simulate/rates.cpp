#include "simulate/rates.hpp"

namespace cleave {

Rates::Rates(const Workload& workload, const Processes& processes, const Fleet& fleet,
             const WorldTerms& terms, const World& world)
    : workload_(&workload),
      processes_(&processes),
      world_(&world),
      speeds_(workload, fleet, terms),
      coincide_(terms.link == LinkSharing::together),
      gpus_(fleet.size()) {
  if (!terms.has_power) return;
  for (const auto& graph : fleet.graphs())
    bounds_.push_back(power_bounds(graph->geometry().model(), terms.power));
}

void Rates::share(const JobRun& run, SharedLoad& load) const {
  const Profile& profile = *world_->graph((*world_)[run.gpu]).geometry()[run.placement].profile;
  load.instance = static_cast<std::uint8_t>(run.placement + 1);
  load.sharing = world_->sharing(run.gpu, run.placement);
  if (load.sharing == SharingMode::compute_instances) {
    load.part = static_cast<double>(run.part) / profile.compute.value;
  } else if (run.part > 0) {
    load.part = run.part / 100.0;
  }
}

Rates::Rate Rates::rate_apart(JobId job, const JobRun& run, bool begins_later) const {
  return {job, alone(job, run).relative, link_share_alone(job, run), asked(job, run), begins_later};
}

std::span<const Rates::Rate> Rates::rates_apart(GpuId gpu, Instant now, const JobRuns& runs) {
  rates_.clear();
  for (const JobId job : jobs_on(gpu)) {
    const JobRun& run = *runs.find(job);
    rates_.push_back(rate_apart(job, run, run.counts_from > now));
  }
  return rates_;
}

std::span<const Rates::Rate> Rates::rates_on(GpuId gpu, Instant now, const JobRuns& runs) {
  const bool coupled = gpus_[index(gpu)].was_coupled = may_slow(gpu);
  if (!coupled) return rates_apart(gpu, now, runs);
  const std::size_t kind = (*world_)[gpu].kind;
  loads_.clear();
  bool whole = false;
  for (const JobId job : jobs_on(gpu)) {
    const JobRun& run = *runs.find(job);
    if (run.counts_from > now) continue;  // it changes things when it begins
    whole = run.mode == RunMode::whole;
    loads_.push_back(speeds_.load_on(job_of(job), kind, column_of(run)));
    if (run.mode == RunMode::shared) share(run, loads_.back());
  }
  paces_.resize(loads_.size());
  const double clock =
      paces_of(speeds_.shared(kind, whole ? Speeds::whole_gpu : 0), loads_, paces_);
  rates_.clear();
  std::size_t next = 0;
  for (const JobId job : jobs_on(gpu)) {
    const JobRun& run = *runs.find(job);
    if (run.counts_from > now) {
      rates_.push_back(rate_apart(job, run, true));
      continue;
    }
    // What nothing slows keeps the speed of its table to the last digit.
    const bool free = clock == 1 && !speeds_.transfers(job_of(job)) && run.mode != RunMode::shared;
    const Pace& pace = paces_[next++];
    rates_.push_back(
        {job, free ? alone(job, run).relative : pace.speed, pace.link, pace.power, false});
  }
  return rates_;
}

}  // namespace cleave
