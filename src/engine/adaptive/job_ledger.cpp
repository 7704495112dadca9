#include "engine/adaptive/job_ledger.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cleave {

namespace {

constexpr double least_rest_s = 0.1;
/// However fast a checkpoint is, a program that starts anew is not at once at full speed.
constexpr double least_stop_s = 3;
/// What a job reports says something once it has run for so long.
constexpr double told_after_s = 3;

}  // namespace

JobLedger::JobLedger(const SchedulerSetup& setup)
    : setup_(setup), learns_(setup.facts != nullptr && setup.facts->predicts()) {}

void JobLedger::enter(Waiting job, bool sized) {
  if (jobs_.size() <= index(job.job)) jobs_.resize(index(job.job) + 1);
  LedgerJob& known = jobs_[index(job.job)];
  known.request = job.request;
  known.sized = sized;
  known.priority = rank_of(setup_.facts, job.job).priority;
  if (setup_.facts != nullptr) {
    known.live = setup_.facts->movable(job.job) && !setup_.facts->saves(job.job);
    known.stops = setup_.facts->restartable(job.job) &&
                  (setup_.facts->saves(job.job) || setup_.facts->checkpoint_time(job.job, 0));
  }
  const bool fresh = !std::exchange(known.here, true);
  know(job.job);
  if (!fresh) return;
  known.among = here_.size();
  here_.push_back(job.job);
  ++came_or_went_;
  checkpoints_s_ += checkpoint_s(job.job, 0);
  entered_ += 1;
  if (known.work_s > 0) {
    told_s_ += known.work_s;
    told_ += 1;
  }
}

void JobLedger::waited_long(JobId id) {
  jobs_[index(id)].due = true;
  know(id);
}

/// Where it may run, and how fast.
void JobLedger::know(JobId id) {
  LedgerJob& job = jobs_[index(id)];
  const ResolvedRequest& asked = setup_.requests[job.request];
  job.cut = false;
  job.allowed = asked.candidates;
  if (job.sized) {
    for (std::size_t kind = 0; kind < job.allowed.size(); ++kind)
      job.allowed[kind] = job.allowed[kind] | asked.holds[kind];
    const std::string* application =
        setup_.facts == nullptr ? nullptr : setup_.facts->application(id);
    const auto needs = application == nullptr ? needed_.end() : needed_.find(*application);
    // One that has waited for long gets what it asks for.
    if (needs != needed_.end() && !job.due) cut(job, needs->second);
  }
  learn(id);
  // What cannot be taken back is not given on a guess.
  if (job.guessed && !job.stops && !job.live) {
    job.allowed = asked.candidates;
    learn(id);
  }
}

/// What is too small is left out, unless nothing is left.
void JobLedger::cut(LedgerJob& job, MiB needed) const {
  std::vector<PlacementSet> enough = job.allowed;
  bool any = false;
  for (std::size_t kind = 0; kind < enough.size(); ++kind) {
    const Geometry& geometry = setup_.fleet.graphs()[kind]->geometry();
    for (const PlacementId place : job.allowed[kind])
      if (const auto usable = geometry[place].profile->usable; usable && *usable < needed)
        enough[kind].erase(place);
    any = any || !enough[kind].empty();
  }
  if (!any) return;
  job.allowed = std::move(enough);
  job.cut = true;
}

/// The part of the largest profile's processors.
double JobLedger::share(std::size_t kind, int profile) const {
  const GpuModel& model = setup_.fleet.graphs()[kind]->geometry().model();
  const Profile& here = model.profiles[static_cast<std::size_t>(profile)];
  const Profile& largest = model.largest();
  if (here.sms && largest.sms)
    return static_cast<double>(here.sms->value) / static_cast<double>(largest.sms->value);
  return static_cast<double>(here.compute.value) / static_cast<double>(largest.compute.value);
}

void JobLedger::learn(JobId id) {
  constexpr double law = 0.6;  // of which nothing is known: (share of the SMs)^law
  LedgerJob& job = jobs_[index(id)];
  job.learnt = lessons_;
  const auto& graphs = setup_.fleet.graphs();
  const auto fill = [&](const auto& value) {
    RelativeSpeeds speeds(graphs.size());
    double fastest = 0;
    for (std::size_t kind = 0; kind < graphs.size(); ++kind) {
      const Geometry& geometry = graphs[kind]->geometry();
      speeds[kind].assign(geometry.model().profiles.size(), 0);
      for (std::size_t i = 0; i < speeds[kind].size(); ++i) {
        const int profile = static_cast<int>(i);
        if (!geometry.of_profile(profile).meets(job.allowed[kind])) continue;
        speeds[kind][i] = value(kind, profile);
        fastest = std::max(fastest, speeds[kind][i]);
      }
    }
    if (fastest > 0)
      for (auto& of_kind : speeds)
        for (double& speed : of_kind) speed /= fastest;
    job.speed = std::move(speeds);
    return fastest;
  };
  const JobFacts* facts = setup_.facts;
  double fastest = 0;
  job.work_s = 0;
  if (facts != nullptr && facts->tells_times()) {
    fastest = fill([&](std::size_t kind, int profile) {
      const auto time = facts->time_on(id, kind, profile);
      return time && *time > Duration::zero() ? 1 / in_seconds(*time) : 0;
    });
    if (fastest > 0) job.work_s = 1 / fastest;
  }
  if (fastest == 0 && facts != nullptr)
    fastest = fill([&](std::size_t kind, int profile) {
      return facts->speed_on(id, kind, profile).value_or(0);
    });
  job.guessed = fastest == 0;
  if (job.guessed)
    fill([&](std::size_t kind, int profile) { return std::pow(share(kind, profile), law); });
}

const RelativeSpeeds& JobLedger::speeds(JobId id) {
  LedgerJob& job = jobs_[index(id)];
  if (job.learnt != lessons_) {
    // It may be worth more than it asks for, now that its speeds are known.
    const bool held_back = job.guessed && !job.stops && !job.live;
    if (held_back) {
      know(id);
    } else {
      learn(id);
    }
  }
  return job.speed;
}

void JobLedger::runs(JobId id, std::size_t kind, int profile, Instant from) {
  LedgerJob& job = jobs_[index(id)];
  job.since = from;
  job.pace = job.speed[kind][static_cast<std::size_t>(profile)];
  job.saved = false;
}

void JobLedger::stopped(JobId id, bool keeps, Instant now) {
  LedgerJob& job = jobs_[index(id)];
  job.done_s = keeps ? done(id, now) : 0;
  job.pace = 0;
  job.saved = keeps;
  if (learns_) ++lessons_;
}

void JobLedger::ended(JobId id, Instant now) {
  const LedgerJob& job = jobs_[index(id)];
  if (job.pace > 0) seen_.add(std::max(least_rest_s, done(id, now)));
  const std::size_t among = job.among;
  here_[among] = here_.back();
  jobs_[index(here_[among])].among = among;
  here_.pop_back();
  ++came_or_went_;
  jobs_[index(id)] = {};
  if (learns_) ++lessons_;
}

void JobLedger::outgrew(JobId id, RequestId now_asks) {
  const auto& needs = setup_.requests[now_asks].request.at_least;
  const std::string* application =
      setup_.facts == nullptr ? nullptr : setup_.facts->application(id);
  if (!needs || application == nullptr) return;
  MiB& needed = needed_[*application];
  if (needed >= *needs) return;
  needed = *needs;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (!jobs_[i].here) continue;
    const std::string* other = setup_.facts->application(static_cast<JobId>(i));
    if (other == nullptr || *other != *application) continue;
    cut(jobs_[i], needed);
    jobs_[i].learnt = 0;
  }
}

double JobLedger::done(JobId id, Instant now) const {
  const LedgerJob& job = jobs_[index(id)];
  return job.done_s +
         (job.pace > 0 && now > job.since ? job.pace * in_seconds(now - job.since) : 0);
}

double JobLedger::rest(JobId id, Instant now) const {
  const LedgerJob& job = jobs_[index(id)];
  const double done = this->done(id, now);
  const double told =
      done > 0 && setup_.facts != nullptr ? setup_.facts->progress(id).value_or(0) : 0;
  if (job.work_s > 0 && !learns_)
    return std::max(least_rest_s, told > 0 ? job.work_s * (1 - told) : job.work_s - done);
  if (told > 0 && done > told_after_s) return std::max(least_rest_s, done * (1 - told) / told);
  if (job.work_s > 0) return std::max({least_rest_s, job.work_s - done, 0.3 * done});
  return seen_.rest(done);
}

WorkWorth JobLedger::worth(JobId id, Instant now) const {
  const double rest_s = rest(id, now);
  return {ranks_.weight(rest_s), rest_s};
}

void JobLedger::look_around(Instant now) {
  constexpr std::size_t hardly_any = 16;  // one in so many
  if (came_or_went_ * hardly_any < here_.size()) return;
  std::vector<double> rests;
  rests.reserve(here_.size());
  for (const JobId job : here_)
    if (jobs_[index(job)].sized) rests.push_back(rest(job, now));
  ranks_.set(std::move(rests), setup_.fleet.size());
  came_or_went_ = 0;
}

double JobLedger::checkpoint_s(JobId id, std::size_t kind) const {
  const auto known =
      setup_.facts == nullptr ? std::nullopt : setup_.facts->checkpoint_time(id, kind);
  return std::max(least_stop_s, in_seconds(known.value_or(setup_.checkpoint)));
}

}  // namespace cleave
