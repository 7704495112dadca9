#include "control/loop/process_listener.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "control/verdicts/expected_end.hpp"
#include "control/verdicts/gpu_verdicts.hpp"
#include "control/verdicts/lesson.hpp"
#include "forecast/memory/usual_workspace.hpp"

namespace cleave {

namespace {

/// How long a failed process waits for an observation of its GPU.
constexpr Duration longest_doubt = std::chrono::seconds(2);

}  // namespace

void ProcessListener::hear() {
  for (const RunnerEvent& event : runner_.poll()) hear(event);
}

void ProcessListener::hear(const RunnerEvent& event) {
  if (node_.unknown.contains(event.key)) return;
  LiveJob* job = node_.find(event.key.job);
  if (job == nullptr) return;
  const auto attempt = job->attempts.find(event.key.attempt);
  if (attempt == job->attempts.end()) return;
  if (const auto* started = std::get_if<JobBegan>(&event.what)) {
    began(*job, attempt->second, started->pid);
  } else if (const auto* report = std::get_if<JobReported>(&event.what)) {
    reported(*job, attempt->second, report->report);
  } else if (const auto* unsaved = std::get_if<NotCheckpointed>(&event.what)) {
    lifecycle_.not_checkpointed(*job, event.key.attempt, unsaved->reason);
  } else if (const auto* over = std::get_if<JobEnded>(&event.what)) {
    heard_of_end(*job, attempt->second, over->outcome);
  } else if (const auto* lost = std::get_if<SupervisorLost>(&event.what)) {
    supervisor_lost(*job, event.key.attempt, *lost);
  } else if (const auto* refused = std::get_if<AttemptNotStarted>(&event.what)) {
    not_started(event.key, refused->why.error.text(), refused->why.code);
  }
  // What was seen of the memory comes with the outcome as well.
}

void ProcessListener::began(LiveJob& job, LiveAttempt& attempt, std::int64_t pid) {
  const std::int64_t number = attempt.record.key.attempt;
  if (attempt.record.began) return;
  attempt.record.began = clock_.wall();
  ++node_.tally.attempts_begun;
  if (number == 1 && job.record.leader == 0)
    node_.tally.waited.add(clock_.wall() - job.record.submitted);
  lifecycle_.shortage_is_over(job);
  job.not_started = 0;
  book_.note(attempt.record);
  lifecycle_.watch_time(job, attempt);
  if (job.record.several()) return began_beside_others(job, attempt, pid);
  const std::string where = node_.place_in_words(attempt);
  book_.event(
      "job-started",
      fmt::format("{} runs on {} (process {})", NodeState::in_words(job.record), where, pid), &job,
      attempt.record.gpu);
  if (job.replica == number) {
    job.replica.reset();
    const auto old = std::exchange(job.main, number);
    if (old && job.attempts.contains(*old))
      lifecycle_.stop_attempt(job, *old, AttemptEnd::moved,
                              fmt::format("it was moved to {}", where));
  }
  if (job.main == number && !attempt.record.end) {
    job.record.state = JobState::running;
    job.record.reason.clear();
  }
  book_.note(job);
  brain_.learnt(node_.processes(job));
}

/// A job of several has begun when the last of its processes has.
void ProcessListener::began_beside_others(LiveJob& job, const LiveAttempt& attempt,
                                          std::int64_t pid) {
  if (attempt.record.end) return;
  const std::vector<LiveJob*> processes = node_.processes(job);
  LiveJob& whole = *processes.front();
  if (&job != &whole) job.record.state = JobState::running;
  book_.note(job);
  std::string places;
  std::size_t count = 0;
  for (LiveJob* process : processes) {
    if (process->attempts.empty()) return;
    LiveAttempt& other = process->attempts.begin()->second;
    if (!process->record.has_process() && !other.record.began) {
      other.record.began = attempt.record.began;
      process->record.state = JobState::running;
      book_.note(other.record);
      book_.note(*process);
    }
    if (!other.record.began || other.record.end) return;
    count += process->record.has_process() ? 1 : 0;
    places += fmt::format("{}{}", places.empty() ? "" : ", ", node_.place_in_words(other));
  }
  lifecycle_.shortage_is_over(whole);
  whole.not_started = 0;
  whole.record.state = JobState::running;
  whole.record.reason.clear();
  book_.note(whole);
  book_.event(
      "job-started",
      count == 1
          ? fmt::format("job {} runs on {} (process {})", whole.record.number, places, pid)
          : fmt::format("job {} runs on {} ({} processes)", whole.record.number, places, count),
      &whole, whole.attempts.begin()->second.record.gpu);
  brain_.learnt(processes);
}

/// How far it is, and with that when it will end.
void ProcessListener::progressed(LiveJob& job, LiveAttempt& attempt, const MemoryReport& report) {
  attempt.progress.add(report.iteration, report.iterations, clock_.steady());
  if (!attempt.placed || attempt.record.end || job.main != attempt.record.key.attempt) return;
  const GpuModel& model = node_.gpu(attempt.place.gpu).geometry().model();
  if (learn_pace(job, attempt, model, clock_.steady())) brain_.learnt(node_.processes(job));
}

void ProcessListener::reported(LiveJob& job, LiveAttempt& attempt, const NumberedReport& numbered) {
  const MemoryReport report = with_usual_workspace(numbered.report, node_.architecture_of(attempt));
  attempt.reports.add(report);
  progressed(job, attempt, report);
  attempt.last_reported = report.held();
  attempt.record.peak = std::max(attempt.record.peak.value_or(MiB{}), report.held());
  attempt.beyond = attempt.capacity && report.beyond(*attempt.capacity);
  if (attempt.record.end || job.main != attempt.record.key.attempt || !job.id) return;
  LiveJob& whole = node_.whole(job);
  lifecycle_.forget_old_restarts(whole);
  if (may_restart_early(whole.record.early_restarts, clock_.wall(), settings_.early_restarts_a_day))
    brain_.tell(MemoryReported{*job.id, report, attempt.capacity});
}

void ProcessListener::heard_of_end(LiveJob& job, LiveAttempt& attempt,
                                   const ProcessOutcome& outcome) {
  const GpuId at = attempt.place.gpu;
  if (!attempt.placed ||
      !is_doubtful(job, attempt, outcome, node_.gpu(at), settings_.out_of_memory_codes))
    return ended(job, attempt.record.key.attempt, outcome);
  node_.pending.push_back(
      {attempt.record.key, outcome, at, node_.last_operation, clock_.steady() + longest_doubt});
  node_.gpu(at).next_look = clock_.steady();
}

void ProcessListener::settle_pending() {
  std::vector<PendingVerdict> settled;
  std::erase_if(node_.pending, [&](PendingVerdict& each) {
    if (!is_settled(each, node_.gpu(each.gpu), clock_.steady())) return false;
    settled.push_back(std::move(each));
    return true;
  });
  for (const PendingVerdict& each : settled)
    if (LiveJob* job = node_.find(each.key.job);
        job != nullptr && job->attempts.contains(each.key.attempt))
      ended(*job, each.key.attempt, each.outcome);
}

void ProcessListener::ended(LiveJob& job, std::int64_t attempt, const ProcessOutcome& outcome) {
  const EndRules rules{settings_.out_of_memory_codes,
                       node_.place_in_words(job.attempts.at(attempt)), clock_.steady()};
  const AttemptVerdict verdict = judge_end(job, attempt, outcome, rules);
  const LiveAttempt& live = job.attempts.at(attempt);
  // One of several goes at the pace of the slowest, which says nothing of its own; and how long a
  // person stays says nothing of an application.
  const bool teaches =
      is_done(verdict) && !job.record.several() && kind_of(job.record.spec) == JobKind::batch;
  learn_from(job, live, outcome, teaches);
  if (teaches) {
    AttemptRecord seen = live.record;
    seen.lasted = verdict.lasted;
    if (const auto score = score_of(job.record.owner.uid, seen))
      add_score(node_.predictions, *score);
  }
  lifecycle_.close(job, attempt, verdict);
}

/// What it taught is written in the same batch as its end, so that it counts once.
void ProcessListener::learn_from(const LiveJob& job, const LiveAttempt& attempt,
                                 const ProcessOutcome& outcome, bool finished) {
  const auto gpu = node_.gpu_of(attempt.record.gpu);
  if (!gpu) return;
  const auto lesson =
      lesson_of(job, attempt, outcome, finished, node_.gpu(*gpu).geometry().model(), clock_.wall());
  if (!lesson) return;
  book_.note(node_.applications.learn(job.record.owner.uid, *lesson, settings_.keep_profiles));
  // The ends of others that run follow; those that wait have their times by reference.
  for (const auto& [place, keys] : node_.occupants)
    for (const JobKey& key : keys)
      if (LiveJob* other = node_.find(key.job);
          other != nullptr && other != &job && other->measured == job.measured)
        brain_.learnt(node_.processes(*other));
}

void ProcessListener::supervisor_lost(LiveJob& job, std::int64_t attempt,
                                      const SupervisorLost& lost) {
  // It may have died after the job began and before that was told.
  AttemptRecord& known = job.attempts.at(attempt).record;
  if (lost.began && !known.began) known.began = known.started;
  std::optional<Duration> lasted;
  if (known.began) lasted = clock_.wall() - *known.began;
  const AttemptVerdict verdict = judge_lost(job, attempt, lost, lasted);
  if (!is_final(job.record.state))
    book_.event("job-lost", fmt::format("{}: {}", NodeState::in_words(job.record), verdict.why),
                &job, known.gpu);
  lifecycle_.close(job, attempt, verdict);
}

void ProcessListener::not_started(const JobKey& key, const std::string& why, int code) {
  LiveJob* job = node_.find(key.job);
  if (job == nullptr || !job->attempts.contains(key.attempt)) return;
  if (shortage_of(code) != nullptr) lifecycle_.pause_starts();
  const AttemptVerdict verdict = judge_not_started(*job, key.attempt, why, code);
  const AttemptRecord& record = job->attempts.at(key.attempt).record;
  // One that was only to be stopped with another is no news.
  if (!is_final(job->record.state) && record.end != AttemptEnd::gang)
    book_.event("job-not-started",
                fmt::format("{} could not be started: {}", NodeState::in_words(job->record), why),
                job, record.gpu);
  lifecycle_.close(*job, key.attempt, verdict);
}

void ProcessListener::held_up(const JobKey& key, const std::string& why) {
  LiveJob* job = node_.find(key.job);
  if (job == nullptr || !job->attempts.contains(key.attempt)) return;
  lifecycle_.close(*job, key.attempt, judge_held_up(*job, key.attempt, why));
}

}  // namespace cleave
