// Jobs of several processes. An attempt of one of them stays open after its process has ended, with
// what that means, until all of the run have: so its place is the job's as long as the engine
// believes that, and a daemon that begins finds the run as it was.

#include <algorithm>

#include "base/format.hpp"
#include "control/loop/job_lifecycle.hpp"
#include "control/verdicts/used_time.hpp"

namespace cleave {

namespace {

constexpr const char* on_account_of_another = "another process of its job has stopped";

/// What the attempt held, by its reports, or as the driver showed it.
MiB held_by(const LiveAttempt& attempt) {
  const auto held = attempt.record.peak ? attempt.record.peak : attempt.seen;
  return held.value_or(MiB{});
}

}  // namespace

void JobLifecycle::process_ended(LiveJob& job, std::int64_t number, const AttemptVerdict& verdict) {
  LiveJob& whole = node_.whole(job);
  LiveAttempt& attempt = job.attempts.at(number);
  attempt.over = EndedProcess{verdict, clock_.wall()};
  node_.ended_runs.insert(whole.record.number);
  if (!decides(job, attempt, verdict)) return;
  const bool starved = verdict.job.kind == JobVerdict::Kind::larger_instance;
  if (!whole.run_end) {
    whole.run_end = verdict.job;
    if (starved) whole.run_end->kind = JobVerdict::Kind::carry_on;
  }
  stop_others(job, verdict.why);
  if (starved) out_of_memory(job, LiveAttempt(attempt), verdict.job);
}

/// Of a process that has ended. The others do not go on without the place.
void JobLifecycle::lose_place(LiveJob& job, std::int64_t number, const std::string& why) {
  LiveJob& whole = node_.whole(job);
  if (!whole.run_end) whole.run_end = judge_lost_place(job, number, why);
  stop_others(job, why);
}

/// They do not go on without this one.
void JobLifecycle::stop_others(LiveJob& job, const std::string& why) {
  if (!job.record.several()) return;
  LiveJob& whole = node_.whole(job);
  if (!is_final(whole.record.state) && !whole.record.cancelled) {
    whole.record.state = JobState::stopping;
    whole.record.reason = why;
    book_.note(whole);
  }
  for (LiveJob* other : node_.processes(job))
    if (other != &job) stop_all_attempts(*other, AttemptEnd::gang, on_account_of_another);
}

void JobLifecycle::settle_runs() {
  for (const JobNumber number : std::exchange(node_.ended_runs, {}))
    if (LiveJob* job = node_.find(number)) settle_run(*job);
}

void JobLifecycle::settle_run(LiveJob& job) {
  const std::vector<const LiveJob*> processes = std::as_const(node_).processes(job);
  const auto still_runs = [](const LiveJob* process) {
    return process->record.has_process() &&
           std::ranges::any_of(process->attempts,
                               [](const auto& attempt) { return !attempt.second.over; });
  };
  if (std::ranges::any_of(processes, still_runs)) return;
  const JobVerdict verdict = judge_run(job, processes);
  if (verdict.state == JobState::finished) remember_most(job);
  close_all(job);
  job.run_end.reset();
  if (is_final(job.record.state)) return;
  apply(job, within_time_limit(job.record, verdict));
  share_with_processes(job);
}

/// What the largest of its processes held.
void JobLifecycle::remember_most(const LiveJob& job) {
  const LiveAttempt* most = nullptr;
  for (const LiveJob* process : std::as_const(node_).processes(job))
    for (const auto& [number, attempt] : process->attempts)
      if (most == nullptr || held_by(attempt) > held_by(*most)) most = &attempt;
  if (most != nullptr) remember_need(job, *most);
}

/// A place that was only held is given up with the first process, which saw it.
void JobLifecycle::close_all(LiveJob& job) {
  std::optional<Duration> lasted;
  for (LiveJob* process : node_.processes(job)) {
    while (!process->attempts.empty()) {
      const auto& [number, attempt] = *process->attempts.begin();
      const AttemptVerdict verdict =
          attempt.over ? attempt.over->verdict
                       : AttemptVerdict{AttemptEnd::ended_itself, {}, {}, {}, lasted};
      if (!lasted) lasted = verdict.lasted;
      if (process->record.leader != 0) process->record.exit_code = verdict.exit_code;
      close_attempt(*process, number, verdict);
    }
    book_.note(*process);
  }
}

/// Verdicts on each process go by what the job has left.
void JobLifecycle::share_with_processes(const LiveJob& job) {
  for (LiveJob* process : node_.processes(job)) {
    if (process == &job) continue;
    process->record.failures = job.record.failures;
    process->not_started = job.not_started;
    process->quick_ends = job.quick_ends;
    process->short_starts = job.short_starts;
  }
}

}  // namespace cleave
