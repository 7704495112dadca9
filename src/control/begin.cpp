// What a loop finds when it begins: the store's jobs, the attempts that their supervisors kept
// running, the outcomes of those that ended meanwhile. The GPUs' instances follow with the first
// look at each.

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "control/inside.hpp"
#include "engine/scheduler.hpp"

namespace cleave {

Result<void> Control::Inside::begin() {
  if (const auto possible = make_forecaster(settings_.forecaster); !possible)
    return std::unexpected(possible.error());
  for (const GpuIdentity& gpu : executor_->gpus()) {
    ManagedGpu at;
    at.identity = &gpu;
    gpus_.push_back(std::move(at));
  }
  auto contents = store_->load();
  if (!contents) return std::unexpected(contents.error());
  auto found = runner_->found();
  if (!found) return std::unexpected(found.error());
  last_job_ = contents->last_job;
  for (const FoundJob& each : *found) last_job_ = std::max(last_job_, each.key.job);
  last_event_ = contents->last_event;
  if (const auto possible = try_scheduler(settings_.scheduler); !possible)
    return std::unexpected(possible.error());
  take_settings(*contents);
  take_jobs(*contents);
  take_attempts(*contents, std::move(*found));
  return {};
}

void Control::Inside::take_settings(const StoreContents& contents) {
  paused_ = contents.settings.contains("paused");
  for (ManagedGpu& at : gpus_)
    at.drained = contents.settings.contains("drained " + at.identity->uuid);
  for (const InstanceRecord& instance : contents.instances) {
    const bool managed = std::ranges::any_of(
        gpus_, [&](const ManagedGpu& at) { return at.identity->uuid == instance.gpu; });
    if (managed) instances_[instance.device] = instance;
  }
  for (const auto& [key, value] : contents.settings)
    if (key.starts_with("need "))
      if (const auto mib = parse_integer(value)) needs_[key] = MiB{*mib};
  const auto boot = contents.settings.find("boot");
  rebooted_ = boot != contents.settings.end() && boot->second != settings_.boot;
  if (boot == contents.settings.end() || rebooted_) note_setting("boot", settings_.boot);
  scheduler_ = settings_.scheduler;
  const auto chosen = contents.settings.find("scheduler");
  if (chosen == contents.settings.end()) return;
  if (const auto possible = try_scheduler(chosen->second); possible) {
    scheduler_ = chosen->second;
  } else {
    event("scheduler",
          fmt::format("the scheduler that was chosen, {}, is not possible any more: {}; it is {}",
                      chosen->second, possible.error().text(), scheduler_));
  }
}

void Control::Inside::take_jobs(StoreContents& contents) {
  for (JobRecord& record : contents.jobs) {
    const JobNumber number = record.number;
    jobs_[number].record = std::move(record);
  }
}

void Control::Inside::take_attempts(StoreContents& contents, std::vector<FoundJob> found) {
  for (AttemptRecord& record : contents.attempts) {
    if (record.ended) continue;
    LiveJob* job = find(record.key.job);
    if (job == nullptr) job = take_final_job(record.key.job);
    if (job == nullptr) continue;
    LiveAttempt live;
    live.placed = false;
    const std::int64_t number = record.key.attempt;
    live.record = std::move(record);
    job->attempts.emplace(number, std::move(live));
  }
  for (auto& [number, job] : jobs_) keep_one_attempt(job);
  std::set<JobKey> seen;
  for (const FoundJob& each : found) {
    seen.insert(each.key);
    LiveJob* job = find(each.key.job);
    if (job == nullptr ||
        (is_final(job->record.state) && !job->attempts.contains(each.key.attempt))) {
      const bool known = std::ranges::binary_search(contents.over, each.key);
      if (!known || each.state == FoundJob::State::alive) take_stranger(each);
      continue;
    }
    take_found(*job, each);
  }
  settle_unfound(seen);
  for (auto& [number, job] : jobs_) {
    if (job.record.cancelled && !is_final(job.record.state)) enter_cancelled(number, "its user");
    if (!job.attempts.empty() || is_final(job.record.state)) continue;
    job.record.state = JobState::queued;
    note(job);
  }
}

/// A job that is over, of which something may still be about to end.
LiveJob* Control::Inside::take_final_job(JobNumber number) {
  auto record = store_->job(number);
  if (!record || !*record) return nullptr;
  LiveJob& job = jobs_[number];
  job.record = std::move(**record);
  over_.insert(number);
  return &job;
}

/// While a replica takes over there are two: the one that began last goes on.
void Control::Inside::keep_one_attempt(LiveJob& job) {
  if (is_final(job.record.state)) return;
  for (const auto& [number, live] : job.attempts)
    if (!live.record.end && (!job.main || live.record.began)) job.main = number;
}

/// The store does not know it: it is another one than was there, or an older copy. What runs is
/// stopped, since its instance is to be used; what it left stays for whoever looks for it.
void Control::Inside::take_stranger(const FoundJob& found) {
  const JobKey key = found.key;
  const bool alive = found.state == FoundJob::State::alive;
  EventRecord said = event_record(
      "job-unknown",
      fmt::format("the store does not know attempt {} of job {}, {}", key.attempt, key.job,
                  alive ? "which runs: it is stopped" : "whose folder is left as it is"),
      nullptr, {});
  said.job = key.job;
  said.uid = 0;  // nobody's, as far as is known
  events_.push_back(std::move(said));
  if (!alive) return;
  strangers_.insert(key);
  later([this, key] { stop_now(key); });
}

void Control::Inside::take_found(LiveJob& job, const FoundJob& found) {
  const std::int64_t number = found.key.attempt;
  if (number > job.record.attempts) {
    // The power went before the store had it on the disk, and came back before the process was
    // gone; or the store is an older copy.
    job.record.attempts = number;
    note(job);
    if (!found.began && found.state != FoundJob::State::alive) return;
    LiveAttempt live;
    live.placed = false;
    live.record.key = found.key;
    live.record.started = found.outcome.began_at;
    live.record.began = found.outcome.began_at;
    live.record.end = AttemptEnd::lost;
    live.record.why = "the store did not know that it was started";
    job.attempts.emplace(number, std::move(live));
  }
  const auto attempt = job.attempts.find(number);
  if (attempt == job.attempts.end()) return;  // its end is in the store already
  if (found.state == FoundJob::State::alive) {
    // What was being stopped is stopped; and so is the one of two that does not count.
    if (!attempt->second.record.end && job.main != number)
      stop_attempt(job, number, AttemptEnd::moved, "another attempt took over");
    if (attempt->second.record.end) later([this, key = found.key] { stop_now(key); });
  } else if (found.state == FoundJob::State::ended) {
    LiveAttempt& live = attempt->second;
    if (!live.record.began && found.outcome.end != ProcessOutcome::End::not_started)
      live.record.began = found.outcome.began_at;
    const std::optional<MiB> capacity = capacity_of(live);
    for (const NumberedReport& each : found.outcome.reports) {
      live.record.peak = std::max(live.record.peak.value_or(MiB{}), each.report.allocated);
      live.beyond = capacity && each.report.requested > *capacity;
    }
    event(
        "job-ended-meanwhile",
        fmt::format("job {} {} while nobody listened", job.record.number, in_words(found.outcome)),
        &job);
    ended(job, number, found.outcome);
  } else if (found.began) {
    if (!attempt->second.record.began)
      attempt->second.record.began = attempt->second.record.started;
    supervisor_lost(job, number, {0, found.trouble});
  } else {
    not_started(job.record.number, number, "its supervisor was killed before it began");
  }
}

/// Attempts of which there is no trace: this program died before it started them. But when the
/// power went, a folder that was made just before it may be gone though its job ran.
void Control::Inside::settle_unfound(const std::set<JobKey>& found) {
  for (auto& [number, job] : jobs_) {
    std::vector<std::int64_t> gone;
    for (const auto& [attempt, live] : job.attempts)
      if (!found.contains(live.record.key)) gone.push_back(attempt);
    for (const std::int64_t attempt : gone) {
      if (job.attempts.at(attempt).record.began || rebooted_) {
        supervisor_lost(job, attempt, {0, "nothing is left of it"});
      } else {
        not_started(number, attempt, "the daemon ended before it was started");
        job.not_before.reset();
        job.not_started = 0;
      }
    }
  }
}

}  // namespace cleave
