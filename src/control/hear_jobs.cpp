// What became of the processes of jobs, and what that means for the jobs.

#include <signal.h>

#include <algorithm>

#include "base/format.hpp"
#include "control/inside.hpp"

namespace cleave {

namespace {

constexpr std::int64_t most_failed_starts = 3;
constexpr Duration day = std::chrono::hours(24);

std::optional<int> exit_code_of(const ProcessOutcome& outcome) {
  switch (outcome.end) {
    case ProcessOutcome::End::exited:
      return outcome.code;
    case ProcessOutcome::End::signalled:
      return 128 + outcome.code;
    case ProcessOutcome::End::not_started:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::string need_key(std::uint32_t uid, const std::string& application) {
  return fmt::format("need {} {}", uid, application);
}

void Control::Inside::hear_jobs() {
  for (const RunnerEvent& event : runner_->poll()) hear(event);
}

void Control::Inside::hear(const RunnerEvent& event) {
  if (strangers_.contains(event.key)) return;
  LiveJob* job = find(event.key.job);
  if (job == nullptr) return;
  const auto attempt = job->attempts.find(event.key.attempt);
  if (attempt == job->attempts.end()) return;
  if (const auto* started = std::get_if<JobBegan>(&event.what)) {
    began(*job, attempt->second, started->pid);
  } else if (const auto* report = std::get_if<JobReported>(&event.what)) {
    reported(*job, attempt->second, report->report);
  } else if (const auto* over = std::get_if<JobEnded>(&event.what)) {
    if (is_doubtful(*job, attempt->second, over->outcome))
      doubt(attempt->second, over->outcome);
    else
      ended(*job, event.key.attempt, over->outcome);
  } else if (const auto* lost = std::get_if<SupervisorLost>(&event.what)) {
    supervisor_lost(*job, event.key.attempt, *lost);
  }
  // What was seen of the memory comes with the outcome as well.
}

void Control::Inside::began(LiveJob& job, LiveAttempt& attempt, std::int64_t pid) {
  const std::int64_t number = attempt.record.key.attempt;
  if (attempt.record.began) return;
  attempt.record.began = wall();
  job.not_started = 0;
  note(attempt.record);
  event("job-started",
        fmt::format("job {} runs on {} (process {})", job.record.number, place_in_words(attempt),
                    pid),
        &job, attempt.record.gpu);
  if (job.replica == number) {
    job.replica.reset();
    const auto old = std::exchange(job.main, number);
    if (old && job.attempts.contains(*old))
      stop_attempt(job, *old, AttemptEnd::moved,
                   fmt::format("it was moved to {}", place_in_words(attempt)));
  }
  if (job.main == number && !attempt.record.end) {
    job.record.state = JobState::running;
    job.record.reason.clear();
  }
  note(job);
}

void Control::Inside::reported(LiveJob& job, LiveAttempt& attempt, const NumberedReport& numbered) {
  const MemoryReport& report = numbered.report;
  attempt.reports.add(report);
  attempt.last_reported = report.allocated;
  attempt.record.peak = std::max(attempt.record.peak.value_or(MiB{}), report.allocated);
  attempt.beyond = attempt.capacity && report.requested > *attempt.capacity;
  if (attempt.record.end || job.main != attempt.record.key.attempt || !job.id) return;
  if (!may_restart_early(job)) return;
  tell(MemoryReported{*job.id, report, attempt.capacity});
}

bool Control::Inside::may_restart_early(LiveJob& job) const {
  std::erase_if(job.record.early_restarts, [&](Instant when) { return wall() - when > day; });
  return static_cast<std::int64_t>(job.record.early_restarts.size()) <
         settings_.early_restarts_a_day;
}

AttemptRecord Control::Inside::close_attempt(LiveJob& job, std::int64_t number,
                                             AttemptEnd otherwise, const std::string& why,
                                             std::optional<int> exit_code) {
  const auto attempt = job.attempts.find(number);
  AttemptRecord record = std::move(attempt->second.record);
  const JobPlace place = attempt->second.place;
  record.ended = wall();
  record.exit_code = exit_code;
  if (!record.end) {
    record.end = otherwise;
    record.why = why;
  }
  note(record);
  job.attempts.erase(attempt);
  if (const auto there = occupants_.find(place); there != occupants_.end()) {
    there->second.erase(record.key);
    if (there->second.empty()) {
      occupants_.erase(there);
      if (place.placement) {
        const auto slot = managed(place.gpu).slots.find(*place.placement);
        if (slot != managed(place.gpu).slots.end()) slot->second.idle_since = steady();
      }
    }
  }
  if (job.main == number) job.main.reset();
  if (job.replica == number) job.replica.reset();
  return record;
}

bool Control::Inside::ran_out_of_memory(const LiveJob& job, const LiveAttempt& attempt,
                                        const ProcessOutcome& outcome) const {
  const auto code = exit_code_of(outcome);
  if (!code || *code == 0) return false;
  if (outcome.out_of_memory || attempt.beyond) return true;
  if (job.record.spec.out_of_memory_code == code) return true;
  return std::ranges::find(settings_.out_of_memory_codes, *code) !=
         settings_.out_of_memory_codes.end();
}

/// Programs fail at once when their GPU or their instance goes, and before anybody has looked at
/// it.
bool Control::Inside::is_doubtful(const LiveJob& job, const LiveAttempt& attempt,
                                  const ProcessOutcome& outcome) const {
  const auto code = exit_code_of(outcome);
  if (!code || *code == 0 || outcome.stopped || !attempt.placed || attempt.record.end) return false;
  if (job.record.cancelled || is_final(job.record.state) ||
      ran_out_of_memory(job, attempt, outcome))
    return false;
  const ManagedGpu& at = managed(attempt.place.gpu);
  return !at.lost && !at.hung;
}

void Control::Inside::doubt(const LiveAttempt& attempt, const ProcessOutcome& outcome) {
  constexpr Duration longest = std::chrono::seconds(2);
  const GpuId gpu = attempt.place.gpu;
  doubts_.push_back({attempt.record.key, outcome, gpu, last_operation_, steady() + longest});
  managed(gpu).next_look = steady();
}

/// Where the GPU or the instance is gone, the attempt has been called lost by now.
void Control::Inside::settle_doubts() {
  std::vector<Doubt> settled;
  std::erase_if(doubts_, [&](Doubt& each) {
    const ManagedGpu& at = managed(each.gpu);
    if (!at.lost && !at.hung && at.shown <= each.acts && steady() < each.until) return false;
    settled.push_back(std::move(each));
    return true;
  });
  for (const Doubt& each : settled)
    if (LiveJob* job = find(each.key.job);
        job != nullptr && job->attempts.contains(each.key.attempt))
      ended(*job, each.key.attempt, each.outcome);
}

/// Another attempt is the job: it runs, and nobody wants it to stop.
bool Control::Inside::another_counts(const LiveJob& job, std::int64_t number) const {
  return job.main && *job.main != number && !job.attempts.at(*job.main).record.end;
}

void Control::Inside::ended(LiveJob& job, std::int64_t number, const ProcessOutcome& outcome) {
  const LiveAttempt live = job.attempts.at(number);
  const bool other = another_counts(job, number);
  if (outcome.end == ProcessOutcome::End::not_started) {
    close_attempt(job, number, AttemptEnd::not_started, outcome.reason, std::nullopt);
    if (is_final(job.record.state)) return;
    if (live.record.end) return stopped(job, live.record);
    if (other) return begin_anew("a replica was not started");
    return finish(job, JobState::failed, fmt::format("it could not be started: {}", outcome.reason),
                  std::nullopt);
  }
  const auto code = exit_code_of(outcome);
  const bool was_replica = job.replica == number;
  // One that ended well although it was about to be stopped has done its work; but after a signal
  // to save what it did, programs end well that have more to do.
  const bool done = code == 0 && !outcome.stopped && !live.stop_at;
  const bool starved = !live.record.end && !other && ran_out_of_memory(job, live, outcome);
  AttemptRecord record =
      close_attempt(job, number, starved ? AttemptEnd::out_of_memory : AttemptEnd::ended_itself,
                    in_words(outcome), code);
  if (is_final(job.record.state)) return;
  if (done && !was_replica) {
    remember_need(job, record, live.seen);
    return finish(job, JobState::finished, {}, code);
  }
  if (record.end != AttemptEnd::ended_itself && !starved) return stopped(job, record);
  if (other) return begin_anew("a replica failed");
  if (job.record.cancelled) return finish(job, JobState::cancelled, job.record.reason, code);
  if (starved) return out_of_memory(job, live, code);
  const std::string why = fmt::format("it {}", in_words(outcome));
  if (!try_again(job, why)) finish(job, JobState::failed, why, code);
}

bool Control::Inside::try_again(LiveJob& job, const std::string& why) {
  if (job.record.failures >= job.record.spec.retries) return false;
  ++job.record.failures;
  wait_again(job, fmt::format("{}; attempt {} of {} follows", why, job.record.failures + 1,
                              job.record.spec.retries + 1));
  return true;
}

void Control::Inside::remember_need(const LiveJob& job, const AttemptRecord& attempt,
                                    std::optional<MiB> seen) {
  // What it reported is what it needed; where it reported nothing, what the driver showed is
  // enough.
  const auto held = attempt.peak ? attempt.peak : seen;
  if (!job.record.spec.application || !held || held->value == 0) return;
  constexpr std::size_t most = 10'000;
  const std::string key = need_key(job.record.owner.uid, *job.record.spec.application);
  if (needs_.size() >= most && !needs_.contains(key)) return;
  needs_[key] = *held;
  note_setting(key, fmt::format("{}", held->value));
}

/// What programs can use of its instance, also where that was not seen since this loop began. Sizes
/// are chosen by what profiles have: the next one is beyond that, whatever the driver counted.
std::optional<MiB> Control::Inside::capacity_of(const LiveAttempt& attempt) const {
  std::optional<MiB> capacity = attempt.capacity;
  for (const ManagedGpu& at : gpus_) {
    if (at.identity->uuid != attempt.record.gpu) continue;
    const Geometry& geometry = at.geometry();
    for (const PlacementId id : geometry.all())
      if (const Profile& profile = *geometry[id].profile; profile.name == attempt.record.profile)
        if (profile.usable) capacity = std::max(capacity.value_or(MiB{}), *profile.usable);
  }
  return capacity;
}

/// Where it runs, also where its instance was not seen since this loop began.
std::string Control::Inside::place_in_words(const LiveAttempt& attempt) const {
  if (attempt.placed) return place_in_words(attempt.place);
  const auto at = std::ranges::find_if(
      gpus_, [&](const ManagedGpu& each) { return each.identity->uuid == attempt.record.gpu; });
  const std::string gpu =
      at == gpus_.end() ? attempt.record.gpu : fmt::format("GPU {}", at->identity->index);
  if (attempt.record.profile.empty()) return fmt::format("the whole of {}", gpu);
  return fmt::format("{}@{} of {}", attempt.record.profile, attempt.record.start, gpu);
}

void Control::Inside::out_of_memory(LiveJob& job, const LiveAttempt& attempt,
                                    std::optional<int> code) {
  const std::string where = place_in_words(attempt);
  job.last_code = code;
  if (!job.record.spec.restartable)
    return finish(
        job, JobState::failed,
        fmt::format("it ran out of memory on {}; submit it with --restartable, or ask for more",
                    where),
        code);
  event("job-out-of-memory",
        fmt::format("job {} ran out of memory on {}", job.record.number, where), &job,
        attempt.record.gpu);
  job.record.state = JobState::queued;
  job.record.reason =
      fmt::format("it ran out of memory on {} and waits for a larger instance", where);
  note(job);
  const std::optional<MiB> had = capacity_of(attempt);
  if (engine_ == nullptr || anew_ || !job.id) {
    if (had)
      job.record.request.at_least =
          std::max(job.record.request.at_least.value_or(MiB{}), MiB{had->value + 1});
    return;
  }
  job.place.reset();
  tell(OutOfMemory{*job.id, had});
  take_request(job);
}

void Control::Inside::stopped(LiveJob& job, const AttemptRecord& attempt) {
  if (is_final(job.record.state)) return;
  if (job.record.cancelled) {
    if (!job.attempts.empty()) return;
    return finish(job, JobState::cancelled, job.record.reason, attempt.exit_code);
  }
  switch (*attempt.end) {
    case AttemptEnd::lost:
      if (job.record.spec.restartable || !attempt.began) return wait_again(job, attempt.why);
      if (try_again(job, attempt.why)) return;
      return finish(job, JobState::failed,
                    fmt::format("{}; submit it with --restartable or --retry to have it run again",
                                attempt.why),
                    attempt.exit_code);
    case AttemptEnd::moved:
      return;  // another attempt is the job, or it waits already
    default:
      // It waits, or starts elsewhere, already.
      job.record.state = job.place ? JobState::starting : JobState::queued;
      job.record.reason = attempt.why;
      note(job);
      return;
  }
}

void Control::Inside::supervisor_lost(LiveJob& job, std::int64_t number,
                                      const SupervisorLost& lost) {
  const bool other = another_counts(job, number);
  std::string why = "its supervisor was killed";
  if (lost.leftovers > 0) why += fmt::format(", and {} processes with it", lost.leftovers);
  if (!lost.trouble.empty()) why += fmt::format(" ({})", lost.trouble);
  // It may have died after the job began and before that was told.
  AttemptRecord& known = job.attempts.at(number).record;
  if (lost.began && !known.began) known.began = known.started;
  const AttemptRecord record = close_attempt(job, number, AttemptEnd::lost, why, std::nullopt);
  if (is_final(job.record.state)) return;
  event("job-lost", fmt::format("job {}: {}", job.record.number, why), &job, record.gpu);
  if (other) return begin_anew("a replica was lost");
  stopped(job, record);
}

/// Nothing of it ever ran: not its fault, so it is tried again some times.
void Control::Inside::not_started(JobNumber number, std::int64_t attempt, std::string why) {
  LiveJob* job = find(number);
  if (job == nullptr || !job->attempts.contains(attempt)) return;
  const bool other = another_counts(*job, attempt);
  const AttemptRecord record =
      close_attempt(*job, attempt, AttemptEnd::not_started, why, std::nullopt);
  if (is_final(job->record.state)) return;
  event("job-not-started", fmt::format("job {} could not be started: {}", number, why), job,
        record.gpu);
  if (other) return begin_anew("a replica was not started");
  if (record.end != AttemptEnd::not_started) return stopped(*job, record);
  if (++job->not_started >= most_failed_starts)
    return finish(*job, JobState::failed, fmt::format("it could not be started: {}", why),
                  std::nullopt);
  job->not_before = steady() + std::chrono::seconds(1LL << job->not_started);
  timers_.emplace(*job->not_before, JobKey{number, 0});
  wait_again(*job, fmt::format("it could not be started and is tried again: {}", why));
}

void Control::Inside::finish(LiveJob& job, JobState state, const std::string& reason,
                             std::optional<int> exit_code) {
  leave_engine(job);
  job.record.state = state;
  job.record.reason = reason;
  job.record.exit_code = exit_code;
  job.record.ended = wall();
  const std::string text =
      reason.empty() ? fmt::format("job {} {}", job.record.number, name(state))
                     : fmt::format("job {} {}: {}", job.record.number, name(state), reason);
  event(fmt::format("job-{}", name(state)), text, &job);
  note(job);
  std::vector<std::int64_t> others;
  for (const auto& [attempt, live] : job.attempts) others.push_back(attempt);
  for (const std::int64_t attempt : others)
    stop_attempt(job, attempt, AttemptEnd::cancelled, "its job is over");
  over_.insert(job.record.number);
}

void Control::Inside::wait_again(LiveJob& job, const std::string& reason) {
  leave_engine(job);
  job.record.state = JobState::queued;
  job.record.reason = reason;
  event("job-queued", fmt::format("job {} waits again: {}", job.record.number, reason), &job);
  enter_line(job);
}

void Control::Inside::enter_line(LiveJob& job) {
  note(job);
  if (engine_ == nullptr || anew_ || job.id || !job.never.empty() || !waits(job)) return;
  // The engine keeps the order of submission; where somebody comes before others it takes another
  // engine.
  const std::int64_t priority = job.record.spec.priority;
  if (priority > lowest_priority_ && std::ranges::any_of(jobs_, [&](const auto& other) {
        const LiveJob& each = other.second;
        return each.id && !each.place && each.record.spec.priority < priority;
      }))
    return begin_anew("a job of higher priority came");
  lowest_priority_ = std::min(lowest_priority_, priority);
  job.id = static_cast<JobId>(numbers_.size());
  numbers_.push_back(job.record.number);
  keep_facts(job);
  tell(Submitted{*job.id, requests_->intern(job.record.request)});
}

/// The engine hears no more of it.
void Control::Inside::leave_engine(LiveJob& job) {
  if (!job.id) return;
  const JobId id = *std::exchange(job.id, std::nullopt);
  const bool placed = std::exchange(job.place, std::nullopt).has_value();
  drop_start(job.record.number);
  if (placed) {
    tell(Finished{id});
  } else {
    tell(Cancelled{id});
  }
}

bool Control::Inside::waits(const LiveJob& job) const {
  if (is_final(job.record.state) || job.record.cancelled || job.not_before) return false;
  return std::ranges::all_of(job.attempts, [](const auto& attempt) {
    const auto& end = attempt.second.record.end;
    return end && (*end == AttemptEnd::early_restart || *end == AttemptEnd::made_room ||
                   *end == AttemptEnd::moved);
  });
}

void Control::Inside::stop_attempt(LiveJob& job, std::int64_t number, AttemptEnd end,
                                   const std::string& why) {
  LiveAttempt& attempt = job.attempts.at(number);
  const bool again = attempt.record.end.has_value();
  if (again && end != AttemptEnd::cancelled) return;
  if (again && *attempt.record.end == AttemptEnd::cancelled) return;
  attempt.record.end = end;
  attempt.record.why = why;
  note(attempt.record);
  if (job.main == number && !is_final(job.record.state)) {
    job.record.state = JobState::stopping;
    job.record.reason = why;
    note(job);
  }
  const JobKey key = attempt.record.key;
  const bool ours = end == AttemptEnd::early_restart || end == AttemptEnd::made_room;
  const int signal = job.record.spec.checkpoint_signal;
  if (ours && signal != 0 && attempt.record.began) {
    attempt.stop_at = steady() + job.record.spec.checkpoint_grace;
    timers_.emplace(*attempt.stop_at, key);
    // Where it cannot be told, it is stopped when the time comes all the same.
    later([this, key, signal] { static_cast<void>(runner_->signal(key, signal)); });
    return;
  }
  attempt.stop_at.reset();
  later([this, key] { stop_now(key); });
}

void Control::Inside::stop_now(const JobKey& key) {
  // Where it is known to be over, its end comes by itself.
  static_cast<void>(runner_->stop(key));
}

void Control::Inside::take_timers() {
  while (!timers_.empty() && timers_.begin()->first <= steady()) {
    const JobKey key = timers_.begin()->second;
    timers_.erase(timers_.begin());
    LiveJob* job = find(key.job);
    if (job == nullptr) continue;
    if (key.attempt == 0) {
      if (job->not_before && *job->not_before <= steady()) {
        job->not_before.reset();
        enter_line(*job);
      }
      continue;
    }
    const auto attempt = job->attempts.find(key.attempt);
    if (attempt == job->attempts.end() || !attempt->second.stop_at) continue;
    attempt->second.stop_at.reset();
    later([this, key] { stop_now(key); });
  }
  for (const GpuId gpu : all_gpus()) {
    ManagedGpu& at = managed(gpu);
    if (at.rests_until == Duration{} || at.rests_until > steady()) continue;
    at.rests_until = {};
    if (takes_work(gpu)) tell(GpuUndrained{gpu});
  }
  if (engine_ != nullptr && !anew_) wake_engine();
}

}  // namespace cleave
