#include "engine/schedulers/dyna_p_jobs.hpp"

#include <algorithm>
#include <cmath>

namespace cleave {

namespace {

std::size_t window_of(const WindowOption& option, int slices) {
  if (option.all) return SIZE_MAX;
  return option.jobs.value_or(static_cast<std::size_t>(slices));
}

/// How many arrivals tell how often jobs come.
constexpr std::size_t arrivals_of_late = 16;

/// By more than a fourth of either.
bool far_apart(double a, double b) {
  return std::abs(a - b) > 0.25 * std::max(std::abs(a), std::abs(b));
}

}  // namespace

DynaPJobs::DynaPJobs(const SchedulerSetup& setup, const DynaPOptions& options)
    : facts_(setup.facts), by_deadline_(options.by_deadline), chooser_(setup, options.partition) {
  constexpr std::size_t overtakes_of_slice = 4;
  std::size_t all_slices = 0;
  for (const GpuState& gpu : setup.fleet.gpus())
    all_slices += static_cast<std::size_t>(setup.fleet.geometry(gpu).model().compute.value);
  overtakes_ = options.overtakes.value_or(overtakes_of_slice * all_slices);
  for (const auto& graph : setup.fleet.graphs()) {
    const GpuModel& model = graph->geometry().model();
    const int slices = model.compute.value;
    kinds_.push_back({.profiles = static_cast<int>(model.profiles.size()),
                      .widest = std::min(options.w.value_or(slices), slices),
                      .window = window_of(options.window, slices),
                      .windows = {}});
  }
}

std::optional<Instant> DynaPJobs::end(JobId job) const {
  if (facts_ != nullptr)
    if (const auto end = facts_->expected_end(job)) return end;
  const Job& known = jobs_[index(job)];
  if (!known.jct) return std::nullopt;
  return known.since + *known.jct;
}

DynaPJobs::Job& DynaPJobs::keep(JobId job, RequestId request) {
  if (jobs_.size() <= index(job)) jobs_.resize(index(job) + 1);
  const auto deadline = facts_ != nullptr && by_deadline_ ? facts_->deadline(job) : std::nullopt;
  const std::int64_t key = deadline ? deadline->time_since_epoch().count() : INT64_MAX;
  Job& kept = jobs_[index(job)];
  kept = {.request = request,
          .plans = std::vector<PartitionPlan>(kinds_.size()),
          .rank = {key, index(job)},
          .priority = rank_of(facts_, job).priority,
          .waits = false,
          .since = {},
          .jct = {}};
  return kept;
}

JobWindow& DynaPJobs::window_for(std::size_t kind, std::int64_t priority) {
  Kind& of = kinds_[kind];
  return of.windows
      .try_emplace(priority, of.profiles, of.widest, of.window,
                   [this, kind](JobId job) { return planned(kind, job); })
      .first->second;
}

QueuedJob DynaPJobs::planned(std::size_t kind, JobId id) {
  Job& job = jobs_[index(id)];
  PartitionPlan& plan = job.plans[kind];
  plan = chooser_.plan(kind, id, job.request, now_, demand_);
  if (plan.until) expiries_.emplace(*plan.until, id);
  return {id, plan.profile, plan.relative, job.rank};
}

template <class Do>
void DynaPJobs::for_each_window(JobId job, Do&& act) {
  const Job& known = jobs_[index(job)];
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
    if (chooser_.runs_on(kind, known.request)) act(window_for(kind, known.priority));
}

void DynaPJobs::arrive(Waiting job, Instant now) {
  arrivals_.push_back(now);
  if (arrivals_.size() > arrivals_of_late) arrivals_.pop_front();
  wait(job, now);
}

void DynaPJobs::wait(Waiting job, Instant now) {
  now_ = now;
  Job& kept = keep(job.job, job.request);
  kept.waits = true;
  for_each_window(job.job, [&](JobWindow& window) { window.insert(kept.rank, job.job); });
  Line& line = waiting_[kept.priority];
  line.jobs.insert(job.job);
  if (*line.jobs.begin() == job.job) first_changed(kept.priority);
  ++all_waiting_;
}

void DynaPJobs::first_changed(std::int64_t priority) {
  waiting_[priority].overtaken = 0;
  if (overtakes_ == 0) {
    due_.insert(priority);
  } else {
    due_.erase(priority);
  }
}

void DynaPJobs::overtake(std::int64_t priority) {
  if (++waiting_[priority].overtaken >= overtakes_) due_.insert(priority);
}

std::optional<JobId> DynaPJobs::due() const {
  if (due_.empty()) return std::nullopt;
  return *waiting_.at(*due_.begin()).jobs.begin();
}

void DynaPJobs::take(JobId job, Instant now) {
  now_ = now;
  Job& taken = jobs_[index(job)];
  if (!taken.waits) return;
  taken.waits = false;
  for_each_window(job, [&](JobWindow& window) { window.erase(taken.rank); });
  --all_waiting_;
  std::set<JobId>& line = waiting_[taken.priority].jobs;
  const bool first = *line.begin() == job;
  line.erase(job);
  if (first) first_changed(taken.priority);
  if (!line.empty()) return;
  waiting_.erase(taken.priority);
  due_.erase(taken.priority);
  // Workloads have few priorities as a rule, but each job may have one of its own.
  if (taken.priority != 0)
    for (Kind& kind : kinds_) kind.windows.erase(taken.priority);
}

void DynaPJobs::run(JobId job, RequestId request, std::size_t kind, int profile, Instant since) {
  keep(job, request);
  start(job, kind, profile, since);
}

void DynaPJobs::start(JobId job, std::size_t kind, int profile, Instant now) {
  if (const Job& started = jobs_[index(job)]; started.waits) {
    // Of the other lines only the first is looked at: there may be as many as jobs.
    const std::int64_t highest = waiting_.begin()->first;
    if (*waiting_[started.priority].jobs.begin() != job) overtake(started.priority);
    if (highest != started.priority) overtake(highest);
    take(job, now);
  }
  jobs_[index(job)].since = now;
  jobs_[index(job)].jct = chooser_.predicted(job, kind, profile);
}

void DynaPJobs::plan_again(Instant now) {
  now_ = now;
  while (!expiries_.empty() && expiries_.begin()->first < now) {
    const JobId job = expiries_.begin()->second;
    expiries_.erase(expiries_.begin());
    if (jobs_[index(job)].waits)
      for_each_window(job, [&](JobWindow& window) { window.plan_again(jobs_[index(job)].rank); });
  }
}

void DynaPJobs::plan_again(Instant now, std::size_t empty, std::size_t gpus) {
  SliceDemand demand;
  demand.waiting = static_cast<double>(all_waiting_) - static_cast<double>(empty);
  demand.gpus = static_cast<double>(std::max(gpus, std::size_t{1}));
  if (arrivals_.size() > 1 && now > arrivals_.front())
    demand.arrivals_per_s =
        static_cast<double>(arrivals_.size() - 1) / in_seconds(now - arrivals_.front());
  if (far_apart(demand.waiting, demand_.waiting) || demand.gpus != demand_.gpus ||
      far_apart(demand.arrivals_per_s, demand_.arrivals_per_s)) {
    now_ = now;
    demand_ = demand;
    for (Kind& kind : kinds_)
      for (auto& [priority, window] : kind.windows) window.plan_all_again();
  }
  plan_again(now);
}

std::vector<std::int64_t> DynaPJobs::priorities() const {
  std::vector<std::int64_t> all;
  for (const auto& [priority, jobs] : waiting_) all.push_back(priority);
  return all;
}

bool DynaPJobs::all_considered(std::int64_t priority) const {
  const auto jobs = waiting_.find(priority);
  return jobs == waiting_.end() || std::ranges::all_of(kinds_, [&](const Kind& kind) {
           return jobs->second.jobs.size() <= kind.window;
         });
}

const JobWindow* DynaPJobs::window(std::size_t kind, std::int64_t priority) const {
  const auto found = kinds_[kind].windows.find(priority);
  return found == kinds_[kind].windows.end() ? nullptr : &found->second;
}

}  // namespace cleave
