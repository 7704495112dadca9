#include "control/loop/startup.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "forecast/memory/usual_workspace.hpp"

namespace cleave {

void Startup::take(StoreContents contents, const std::vector<FoundJob>& found) {
  take_instances(contents.instances);
  for (JobRecord& record : contents.jobs) {
    const JobNumber number = record.number;
    LiveJob& job = node_.jobs[number];
    job.record = std::move(record);
    job.measured = node_.applications.times_of(job.record.owner.uid, job.record.spec);
  }
  take_attempts(std::move(contents.attempts));
  std::set<JobKey> seen;
  for (const FoundJob& each : found) {
    seen.insert(each.key);
    take_found(each);
  }
  const std::vector<JobNumber> unstarted = settle_unfound(seen);
  lifecycle_.settle_runs();
  start_at_once(unstarted);
  for (auto& [number, job] : node_.jobs) {
    if (job.record.cancelled && job.record.stands_alone()) lifecycle_.cancel(job, "its user");
    if (node_.runs(job) || is_final(job.record.state) || job.record.cancelled) continue;
    job.record.state = JobState::queued;
    book_.note(job);
  }
}

void Startup::take_instances(const std::vector<InstanceRecord>& instances) {
  for (const InstanceRecord& instance : instances)
    if (node_.gpu_of(instance.gpu)) node_.instances[instance.device] = instance;
}

void Startup::take_attempts(std::vector<AttemptRecord> attempts) {
  for (AttemptRecord& record : attempts) {
    if (record.ended) continue;
    LiveJob* job = node_.find(record.key.job);
    if (job == nullptr) job = take_final_job(record.key.job);
    if (job == nullptr) continue;
    LiveAttempt live;
    live.placed = false;
    const std::int64_t number = record.key.attempt;
    live.record = std::move(record);
    job->attempts.emplace(number, std::move(live));
  }
  for (auto& [number, job] : node_.jobs) keep_one_attempt(job);
}

/// A job that is over, of which something may still be about to end.
LiveJob* Startup::take_final_job(JobNumber number) {
  auto record = book_.job(number);
  if (!record || !*record) return nullptr;
  LiveJob& job = node_.jobs[number];
  job.record = std::move(**record);
  node_.over.insert(number);
  return &job;
}

/// While a replica takes over there are two: the one that began last goes on.
void Startup::keep_one_attempt(LiveJob& job) {
  if (is_final(job.record.state)) return;
  for (const auto& [number, live] : job.attempts)
    if (!live.record.end && (!job.main || live.record.began)) job.main = number;
}

void Startup::take_found(const FoundJob& found) {
  LiveJob* job = node_.find(found.key.job);
  const bool known_job =
      job != nullptr && (!is_final(job->record.state) || job->attempts.contains(found.key.attempt));
  if (!known_job) {
    const auto stored = book_.attempt(found.key);
    const bool unknown = stored && !*stored;
    if (unknown || found.state == FoundJob::State::alive) take_unknown(found);
    return;
  }
  if (found.key.attempt > job->record.attempts && !take_unwritten_attempt(*job, found)) return;
  const auto attempt = job->attempts.find(found.key.attempt);
  if (attempt == job->attempts.end()) return;  // its end is in the store already
  AttemptRecord& record = attempt->second.record;
  if (found.state == FoundJob::State::alive) {
    take_alive(*job, found);
  } else if (found.state == FoundJob::State::ended) {
    take_ended(*job, found);
  } else if (found.began) {
    if (!record.began) record.began = record.started;
    processes_.supervisor_lost(*job, found.key.attempt, {0, found.trouble});
  } else {
    processes_.not_started(found.key, "its supervisor was killed before it began");
  }
}

/// The store does not know it: it is another one than was there, or an older copy. What runs is
/// stopped, since its instance is to be used; what it left stays, and can be looked at.
void Startup::take_unknown(const FoundJob& found) {
  const JobKey key = found.key;
  const bool alive = found.state == FoundJob::State::alive;
  const auto stored = book_.job(key.job);
  const JobRecord* job = stored && *stored ? &**stored : nullptr;
  EventRecord said = book_.event_record(
      "job-unknown",
      fmt::format("the store does not know attempt {} of {}, {}", key.attempt,
                  job != nullptr ? NodeState::in_words(*job) : fmt::format("job {}", key.job),
                  alive ? "which runs: it is stopped" : "whose folder is left as it is"),
      nullptr);
  said.job = job != nullptr ? job->job() : key.job;
  said.uid = 0;  // nobody's, as far as is known
  book_.event(std::move(said));
  if (!alive) return;
  node_.unknown.insert(key);
  book_.later([lifecycle = &lifecycle_, key] { lifecycle->stop_now(key); });
}

/// The power went before the store had it on the disk, and came back before the process was gone;
/// or the store is an older copy. False: nothing of it ever ran.
bool Startup::take_unwritten_attempt(LiveJob& job, const FoundJob& found) {
  job.record.attempts = found.key.attempt;
  book_.note(job);
  if (!found.began && found.state != FoundJob::State::alive) return false;
  LiveAttempt live;
  live.placed = false;
  live.record.key = found.key;
  live.record.started = found.outcome.began_at;
  live.record.began = found.outcome.began_at;
  live.record.end = AttemptEnd::lost;
  live.record.why = "the store did not know that it was started";
  job.attempts.emplace(found.key.attempt, std::move(live));
  return true;
}

/// What was being stopped is stopped; and so is the one of two that does not count.
void Startup::take_alive(LiveJob& job, const FoundJob& found) {
  const std::int64_t number = found.key.attempt;
  lifecycle_.watch_time(job, job.attempts.at(number));
  if (job.attempts.at(number).record.end) return lifecycle_.tell_to_end(job, number);
  if (job.main != number)
    lifecycle_.stop_attempt(job, number, AttemptEnd::moved,
                            job.main && *job.main < number
                                ? "it had not taken over yet when the daemon ended"
                                : "another attempt took over");
}

void Startup::take_ended(LiveJob& job, const FoundJob& found) {
  LiveAttempt& live = job.attempts.at(found.key.attempt);
  if (!live.record.began && found.outcome.end != ProcessOutcome::End::not_started)
    live.record.began = found.outcome.began_at;
  const std::optional<MiB> capacity = node_.capacity_of(live);
  for (const NumberedReport& each : found.outcome.reports) {
    const MemoryReport report = with_usual_workspace(each.report, node_.architecture_of(live));
    live.record.peak = std::max(live.record.peak.value_or(MiB{}), report.held());
    live.beyond = capacity && report.beyond(*capacity);
  }
  book_.event("job-ended-meanwhile",
              fmt::format("{} {} while the daemon was not running", NodeState::in_words(job.record),
                          in_words(found.outcome)),
              &job);
  processes_.ended(job, found.key.attempt, found.outcome);
}

/// A place without a process of its own leaves no trace.
void Startup::settle_held(LiveJob& job) {
  std::vector<std::int64_t> given_up;
  for (const auto& [attempt, live] : job.attempts)
    if (live.record.end && !live.over) given_up.push_back(attempt);
  for (const std::int64_t attempt : given_up) lifecycle_.tell_to_end(job, attempt);
}

/// Attempts of which there is no trace: this program died before it started them. But when the
/// power went, a folder that was made just before it may be gone though its job ran. Returned:
/// those that were not started.
std::vector<JobNumber> Startup::settle_unfound(const std::set<JobKey>& found) {
  std::vector<JobNumber> unstarted;
  for (auto& [number, job] : node_.jobs) {
    if (!job.record.has_process()) {
      settle_held(job);
      continue;
    }
    std::vector<std::int64_t> gone;
    for (const auto& [attempt, live] : job.attempts)
      if (!found.contains(live.record.key)) gone.push_back(attempt);
    for (const std::int64_t attempt : gone) {
      if (job.attempts.at(attempt).record.began || rebooted_) {
        processes_.supervisor_lost(job, attempt, {0, "no trace of it is left"});
      } else {
        const std::int64_t restarts = job.record.restarts;
        processes_.not_started({number, attempt}, "the daemon ended before it was started");
        job.record.restarts = restarts;
        unstarted.push_back(number);
      }
    }
  }
  return unstarted;
}

/// That this program ended is no failed start, and no end of a replica.
void Startup::start_at_once(const std::vector<JobNumber>& unstarted) {
  for (const JobNumber number : unstarted) {
    LiveJob& whole = node_.whole(node_.jobs.at(number));
    whole.not_before.reset();
    whole.quick_ends = 0;
    for (LiveJob* process : node_.processes(whole)) process->not_started = 0;
  }
}

}  // namespace cleave
