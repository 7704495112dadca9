#include "control/loop/job_lifecycle.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "control/book/stored_settings.hpp"
#include "control/brain/fleet_of_node.hpp"
#include "control/verdicts/size_by_measurements.hpp"
#include "control/verdicts/size_by_siblings.hpp"
#include "control/verdicts/use_verdicts.hpp"
#include "control/verdicts/used_time.hpp"

namespace cleave {

namespace {

/// From KILL until a process is gone: the driver first gives back what it held on the GPU.
constexpr Duration time_to_die = std::chrono::seconds(30);

}  // namespace

void JobLifecycle::rebuild(const std::string& why) {
  if (!brain_.begin_rebuild(why)) return;
  for (ManagedGpu& gpu : node_.gpus) gpu.steps.clear();
  for (auto& [number, job] : node_.jobs) {
    job.id.reset();
    job.rejected.reset();
    if (!std::exchange(job.place, std::nullopt)) continue;
    if (node_.runs(job) || is_final(job.record.state)) continue;
    job.record.state = JobState::queued;
    book_.note(job);
  }
}

void JobLifecycle::enter_queue(LiveJob& job) {
  book_.note(job);
  if (!brain_.active() || job.id || job.rejected || !belongs_into_queue(node_, job)) return;
  brain_.tell(brain_.submission_of(node_.processes(job)));
}

void JobLifecycle::leave_engine(LiveJob& job) {
  if (!job.id) return;
  const JobId id = *job.id;
  const bool placed = job.place.has_value();
  for (LiveJob* process : node_.processes(job)) {
    process->id.reset();
    process->place.reset();
    drop_steps(process->record.number);
  }
  brain_.tell(placed ? Event(Finished{id}) : Event(Cancelled{id}));
}

void JobLifecycle::drop_steps(JobNumber number) {
  for (ManagedGpu& gpu : node_.gpus)
    std::erase_if(gpu.steps, [&](const GpuStep& step) { return step.job == number; });
}

void JobLifecycle::take_request(LiveJob& job) {
  if (!job.id) return;
  job.record.request = brain_.request_of(*job.id);
  book_.note(job);
}

void JobLifecycle::forget_old_restarts(LiveJob& job) {
  job.record.early_restarts = restarts_of_last_day(job.record.early_restarts, clock_.wall());
}

void JobLifecycle::finish(LiveJob& job, JobState state, const std::string& reason,
                          std::optional<int> exit_code) {
  leave_engine(job);
  job.record.exit_code = exit_code;
  if (stands_for_others(job)) return await_others(job, reason);
  for (LiveJob* process : node_.processes(job)) {
    process->record.state = state;
    process->record.reason = reason;
    process->record.ended = clock_.wall();
    book_.note(*process);
    node_.over.insert(process->record.number);
  }
  // A service has ended with the last of its replicas.
  const bool all = !job.record.is_replica() || std::as_const(node_).replicas(job).empty();
  if (const auto at = node_.gpu_of(job.last_gpu); at && all) {
    UsageSums sums;
    sums.jobs = 1;
    count_usage(job, node_.gpu(*at), sums);
  }
  if (all) node_.ended.emplace_back(job.record.job(), state);
  if (all) tally_end(job.record);
  const std::string who =
      all ? fmt::format("job {}", job.record.job()) : NodeState::in_words(job.record);
  const std::string text = reason.empty() ? fmt::format("{} {}", who, name(state))
                                          : fmt::format("{} {}: {}", who, name(state), reason);
  book_.event(all ? fmt::format("job-{}", name(state)) : "replica-ended", text, &job);
  for (LiveJob* process : node_.processes(job))
    stop_all_attempts(*process, AttemptEnd::cancelled, "its job has ended");
  if (job.record.is_replica() && !all) finish_service(job);
}

void JobLifecycle::tally_end(const JobRecord& job) {
  ++node_.tally.jobs_ended[static_cast<std::size_t>(job.state)];
  if (job.state == JobState::finished) node_.tally.turnaround.add(clock_.wall() - job.submitted);
}

/// A service is cancelled when the last of its replicas has ended. Its first, which is what people
/// see of it, is stopping until then.
bool JobLifecycle::stands_for_others(const LiveJob& job) const {
  return job.record.cancelled && job.record.is_replica() && job.record.leader == 0 &&
         std::as_const(node_).replicas(job).size() > 1;
}

void JobLifecycle::await_others(LiveJob& first, const std::string& reason) {
  first.record.state = JobState::stopping;
  first.record.reason = reason;
  book_.note(first);
}

void JobLifecycle::finish_service(const LiveJob& replica) {
  const std::vector<const LiveJob*> left = std::as_const(node_).replicas(replica);
  if (left.size() != 1 || left.front()->record.leader != 0) return;
  LiveJob& first = *node_.find(left.front()->record.number);
  if (first.record.cancelled && !node_.runs(first))
    finish(first, JobState::cancelled, first.record.reason, first.record.exit_code);
}

void JobLifecycle::wait_again(LiveJob& job, const std::string& reason) {
  leave_engine(job);
  for (LiveJob* process : node_.processes(job)) {
    process->record.state = JobState::queued;
    process->record.reason = reason;
    book_.note(*process);
  }
  book_.event("job-queued",
              fmt::format("{} waits again: {}", NodeState::in_words(job.record), reason), &job);
  enter_queue(job);
}

void JobLifecycle::cancel(LiveJob& job, const std::string& by, std::optional<Duration> grace) {
  if (is_final(job.record.state)) return;
  const std::string why = fmt::format("cancelled by {}", by);
  leave_engine(job);
  const std::vector<LiveJob*> processes = node_.processes(job);
  for (LiveJob* process : processes) process->record.cancelled = true;
  if (!node_.runs(job)) return finish(job, JobState::cancelled, why, std::nullopt);
  for (LiveJob* process : processes) {
    if (grace) shorten_grace(*process, *grace);
    stop_all_attempts(*process, AttemptEnd::cancelled, why);
    process->record.state = JobState::stopping;
    process->record.reason = why;
    book_.note(*process);
  }
}

void JobLifecycle::give_up(LiveJob& job, const std::string& reason) {
  for (LiveJob* process : node_.processes(job)) process->record.cancelled = true;
  finish(job, JobState::cancelled, reason, std::nullopt);
}

/// Those that have been told to end are told once more.
void JobLifecycle::shorten_grace(LiveJob& process, Duration grace) {
  for (auto& [number, attempt] : process.attempts) {
    attempt.grace = std::min(attempt.grace.value_or(grace), grace);
    if (attempt.record.end == AttemptEnd::cancelled && !attempt.over)
      book_.later([this, key = attempt.record.key] { stop_now(key); });
  }
}

void JobLifecycle::stop_attempt(LiveJob& job, std::int64_t number, AttemptEnd end,
                                const std::string& why) {
  LiveAttempt& attempt = job.attempts.at(number);
  if (attempt.over) {
    if (end == AttemptEnd::lost) lose_place(job, number, why);
    return;
  }
  if (!may_replace(attempt.record.end, end)) return;
  attempt.record.end = end;
  attempt.record.why = why;
  if (saves_first(job.record.spec, end)) attempt.record.told_to_save = true;
  book_.note(attempt.record);
  // Programs end well after it with work left: a daemon that begins must know that it was sent.
  if (is_told_to_save(job.record.spec)) book_.sync_next();
  if (job.main == number && !is_final(job.record.state)) {
    job.record.state = JobState::stopping;
    job.record.reason = why;
    book_.note(job);
  }
  tell_to_end(job, number);
  if (end != AttemptEnd::cancelled && end != AttemptEnd::gang) stop_others(job, why);
}

void JobLifecycle::tell_to_end(LiveJob& job, std::int64_t number) {
  LiveAttempt& attempt = job.attempts.at(number);
  const JobKey key = attempt.record.key;
  attempt.stop_at.reset();
  if (!job.record.has_process()) return process_ended(job, number, judge_given_up(job, number));
  // That it has begun may be heard of in between.
  book_.later([this, key] {
    const LiveJob* told = node_.find(key.job);
    if (told == nullptr || !told->attempts.contains(key.attempt)) return;
    const LiveAttempt& ends = told->attempts.at(key.attempt);
    if (!ends.record.end) return;  // it may stay by now
    if (signals_first(told->record.spec, ends, *ends.record.end)) return signal_now(key);
    stop_now(key);
  });
}

/// Its time begins now, and not when it was decided: the store may not have written for a while.
void JobLifecycle::signal_now(const JobKey& key) {
  LiveJob* job = node_.find(key.job);
  if (job == nullptr || !job->attempts.contains(key.attempt)) return;
  LiveAttempt& attempt = job->attempts.at(key.attempt);
  const JobSpec& spec = job->record.spec;
  if (!signals_first(spec, attempt, *attempt.record.end)) return;  // it is to end at once by now
  if (!spec.checkpoint_command.empty()) {
    // Its supervisor keeps the time, and stops it or says that it was not saved.
    if (!runner_.checkpoint(key, spec.checkpoint_grace)) stop_now(key);
    return;
  }
  // Where it cannot be told, it is stopped when the time comes all the same.
  static_cast<void>(runner_.signal(key, spec.checkpoint_signal));
  attempt.stop_at = clock_.steady() + spec.checkpoint_grace;
  node_.timers.emplace(*attempt.stop_at, key);
}

/// What only was to be moved stays. What has to go does so without: it may be started again.
void JobLifecycle::not_checkpointed(LiveJob& job, std::int64_t number, const std::string& why) {
  LiveAttempt& attempt = job.attempts.at(number);
  const std::string reason = fmt::format("it could not be checkpointed: {}", why);
  attempt.unsaved = reason;
  book_.event("job-not-checkpointed",
              fmt::format("{}: {}", NodeState::in_words(job.record), reason), &job,
              attempt.record.gpu);
  if (!attempt.record.end) return;
  const bool may_stay = attempt.record.end == AttemptEnd::moved || job.planned;
  // One that an earlier daemon was stopping is not the main one, though there is no other.
  const bool counts = job.main == number || (!job.main && job.attempts.size() == 1);
  if (!may_stay || job.record.cancelled || !counts) return stop_now(attempt.record.key);
  job.main = number;
  attempt.record.end.reset();
  attempt.record.why.clear();
  attempt.record.told_to_save = false;
  book_.note(attempt.record);
  drop_steps(job.record.number);
  job.on_its_way = false;
  job.record.state = JobState::running;
  job.record.reason = reason;
  book_.note(job);
  rebuild("a job could not be checkpointed");
}

void JobLifecycle::stop_all_attempts(LiveJob& job, AttemptEnd end, const std::string& why) {
  std::vector<std::int64_t> attempts;
  for (const auto& [attempt, live] : job.attempts) attempts.push_back(attempt);
  for (const std::int64_t attempt : attempts) stop_attempt(job, attempt, end, why);
}

void JobLifecycle::stop_now(const JobKey& key) {
  std::optional<Duration> grace;
  if (LiveJob* job = node_.find(key.job); job != nullptr && job->attempts.contains(key.attempt)) {
    LiveAttempt& attempt = job->attempts.at(key.attempt);
    const Duration own = job->record.spec.stop_grace;
    grace = attempt.grace;
    attempt.gone_by = clock_.steady() + std::min(grace.value_or(own), own) + time_to_die;
    node_.timers.emplace(*attempt.gone_by, JobKey{});  // so that what is seen of it is right
  }
  // Where it is known to be over, its end comes by itself.
  static_cast<void>(runner_.stop(key, grace));
}

AttemptRecord JobLifecycle::close_attempt(LiveJob& job, std::int64_t number,
                                          const AttemptVerdict& verdict) {
  const auto attempt = job.attempts.find(number);
  AttemptRecord record = std::move(attempt->second.record);
  const JobPlace place = attempt->second.place;
  record.ended = attempt->second.over ? attempt->second.over->at : clock_.wall();
  record.exit_code = verdict.exit_code;
  record.lasted = verdict.lasted;
  if (!record.end) {
    record.end = verdict.end;
    record.why = verdict.why;
  }
  book_.note(record);
  // Of several the first stands for all.
  const bool counts = job.record.leader == 0 && !job.record.is_replica();
  if (const Duration used = used_by(job.record.spec, record); counts && used > Duration{}) {
    job.record.used += used;
    book_.note(job);
  }
  if (verdict.checkpointed) {
    job.record.checkpoint = number;
    book_.note(job);
  }
  node_.count_use(job.record.owner, record);
  if (record.end) ++node_.tally.attempts_ended[static_cast<std::size_t>(*record.end)];
  count_attempt(job, attempt->second, record);
  job.attempts.erase(attempt);
  node_.vacate(place, record.key, clock_.steady());
  if (job.main == number) job.main.reset();
  if (job.replica == number) job.replica.reset();
  return record;
}

/// What it held counts when its GPU's counter is read next, and that it ended does now. Of several
/// processes the first stands for all. One that did not begin is not counted.
void JobLifecycle::count_attempt(LiveJob& job, const LiveAttempt& attempt,
                                 const AttemptRecord& record) {
  const auto at = node_.gpu_of(record.gpu);
  if (!at || (!record.began && !record.lasted)) return;
  job.last_gpu = record.gpu;
  ManagedGpu& gpu = node_.gpu(*at);
  Tenancy tenancy = ended_tenancy_of(job, attempt, record, gpu.geometry().model());
  if (job.record.stands_alone()) {
    UsageSums sums;
    sums.attempts = 1;
    sums.lost = record.end == AttemptEnd::lost ? 1 : 0;
    sums.moves = record.end == AttemptEnd::moved || job.on_its_way ? 1 : 0;
    node_.tally.moves += sums.moves;
    count_usage(job, gpu, sums);
  }
  gpu.meter.end(std::move(tenancy));
}

void JobLifecycle::count_usage(const LiveJob& job, const ManagedGpu& gpu, const UsageSums& sums) {
  UsageKey key{day_of(clock_.wall()), UseKind::jobs, party_of(job.record), gpu.identity->uuid};
  book_.add_usage(
      {std::move(key), job.record.owner.user, gpu.geometry().model().compute.value, sums});
}

void JobLifecycle::close(LiveJob& job, std::int64_t number, const AttemptVerdict& verdict) {
  if (job.record.several()) return process_ended(job, number, verdict);
  const LiveAttempt attempt = job.attempts.at(number);
  close_attempt(job, number, verdict);
  if (verdict.job.remembers_need) remember_need(job, attempt);
  const JobVerdict next = within_time_limit(job.record, verdict.job);
  if (next.kind == JobVerdict::Kind::larger_instance) return out_of_memory(job, attempt, next);
  apply(job, next);
}

void JobLifecycle::apply(LiveJob& job, const JobVerdict& verdict) {
  switch (verdict.kind) {
    case JobVerdict::Kind::nothing:
    case JobVerdict::Kind::larger_instance:
      return;
    case JobVerdict::Kind::finish:
      return finish(job, verdict.state, verdict.reason, verdict.exit_code);
    case JobVerdict::Kind::retry:
      ++job.record.failures;
      [[fallthrough]];
    case JobVerdict::Kind::wait_again:
      if (verdict.delay > Duration{}) {
        job.quick_ends = verdict.quick_ends;
        rest(job, verdict.delay);
      }
      return wait_again(job, verdict.reason);
    case JobVerdict::Kind::start_later:
      return start_later(job, verdict);
    case JobVerdict::Kind::start_again:
      return start_again(job, verdict);
    case JobVerdict::Kind::rebuild:
      return rebuild(verdict.reason);
    case JobVerdict::Kind::carry_on:
      for (LiveJob* process : node_.processes(job)) {
        process->record.state = process->place ? JobState::starting : JobState::queued;
        process->record.reason = verdict.reason;
        book_.note(*process);
      }
      return enter_queue(job);
  }
}

/// Those that were about to be started in the same step count as one.
void JobLifecycle::pause_starts() {
  HostShortage& shortage = node_.shortage;
  if (clock_.steady() < shortage.until) return;
  shortage.until = clock_.steady() + restart_delay(++shortage.in_row);
  node_.timers.emplace(shortage.until, JobKey{});  // of no job: the loop wakes, and starts
}

void JobLifecycle::shortage_is_over(LiveJob& job) {
  if (clock_.steady() >= node_.shortage.until) node_.shortage.in_row = 0;
  node_.shortage.waits.erase(job.record.number);
  job.short_starts = 0;
}

void JobLifecycle::await_end_of_shortage(LiveJob& job, int code) {
  ++job.short_starts;
  node_.shortage.waits[job.record.number] = code;
}

void JobLifecycle::rest(LiveJob& job, Duration delay) {
  job.not_before = clock_.steady() + delay;
  node_.timers.emplace(*job.not_before, JobKey{job.record.number, 0});
}

void JobLifecycle::start_later(LiveJob& job, const JobVerdict& verdict) {
  if (verdict.short_of == 0) {
    ++job.not_started;
  } else {
    await_end_of_shortage(job, verdict.short_of);
  }
  rest(job, verdict.delay);
  wait_again(job, verdict.reason);
}

/// The attempt that was to take over from the one that ended does so now, without delay.
void JobLifecycle::start_again(LiveJob& job, const JobVerdict& verdict) {
  if (verdict.short_of == 0) {
    ++job.record.restarts;
  } else {
    await_end_of_shortage(job, verdict.short_of);
  }
  job.quick_ends = verdict.quick_ends;
  job.record.reason = verdict.reason;
  book_.event("replica-ended",
              fmt::format("{}: {}", NodeState::in_words(job.record), verdict.reason), &job);
  if (job.replica) {
    job.main = std::exchange(job.replica, std::nullopt);
    job.record.state = JobState::starting;
    return book_.note(job);
  }
  rest(job, verdict.delay);
  job.record.state = job.place ? JobState::starting : JobState::queued;
  book_.note(job);
  if (!job.place || !job.place->placement) return;
  // Until then its instance is not idle.
  auto& instances = node_.gpu(job.place->gpu).instances;
  if (const auto found = instances.find(*job.place->placement); found != instances.end())
    found->second.idle_since = *job.not_before;
}

void JobLifecycle::start_at_its_place(LiveJob& job) {
  drop_steps(job.record.number);
  const PlacementId placement = job.place->placement.value_or(0);
  node_.gpu(job.place->gpu).steps.push_back({GpuStep::Kind::start, placement, job.record.number});
}

/// What it reported is what it needed; where it reported nothing, what the driver showed is enough.
void JobLifecycle::remember_need(const LiveJob& job, const LiveAttempt& attempt) {
  const auto held = attempt.record.peak ? attempt.record.peak : attempt.seen;
  if (!held || held->value == 0) return;
  size_siblings(job, *held);
  if (!job.record.spec.application) return;
  book_.remember_need({job.record.owner.uid, *job.record.spec.application}, *held);
}

/// The engine is made again rather than told of each: they keep their places in the queue. Of sizes
/// that grow by less than a twentieth it hears once.
void JobLifecycle::size_siblings(const LiveJob& job, MiB held) {
  if (!job.record.spec.task) return;
  const FleetFile fleet = fleet_of(node_);
  std::vector<const Geometry*> geometries;
  for (const Geometry& each : fleet.geometries) geometries.push_back(&each);
  const auto size = with_margin(held, geometries);
  if (!size || to_be_sized(node_, job, held).empty()) return;
  const std::vector<JobNumber> siblings = to_be_sized(node_, job, *size);
  for (const JobNumber number : siblings) {
    for (LiveJob* process : node_.processes(node_.jobs.at(number))) {
      process->record.request.wanted = BySize{*size, {}};
      book_.note(*process);
    }
  }
  book_.event("jobs-sized",
              fmt::format("{} of array {} ask for {} MiB from now on: job {} held {} MiB",
                          counted(siblings.size(), "waiting job"), job.record.spec.task->job,
                          size->value, job.record.number, held.value),
              &job);
  rebuild(fmt::format("jobs of array {} have shown what they need", job.record.spec.task->job));
}

/// `job`: the process, of several, that did.
void JobLifecycle::out_of_memory(LiveJob& job, const LiveAttempt& attempt,
                                 const JobVerdict& verdict) {
  LiveJob& whole = node_.whole(job);
  whole.last_code = verdict.exit_code;
  book_.event("job-out-of-memory",
              fmt::format("{} ran out of memory on {}", NodeState::in_words(job.record),
                          node_.place_in_words(attempt)),
              &job, attempt.record.gpu);
  if (!job.record.several()) job.record.state = JobState::queued;
  whole.record.reason = verdict.reason;
  book_.note(whole);
  const std::optional<MiB> had = node_.capacity_of(attempt);
  if (!brain_.active() || !job.id) {
    std::optional<MiB>& at_least = whole.record.request.at_least;
    if (had) at_least = std::max(at_least.value_or(MiB{}), MiB{had->value + 1});
    return;
  }
  for (LiveJob* process : node_.processes(job)) process->place.reset();
  brain_.tell(OutOfMemory{*job.id, had});
  take_request(whole);
}

void JobLifecycle::take_timer(const JobKey& key) {
  LiveJob* job = node_.find(key.job);
  if (job == nullptr) return;
  if (key.attempt == 0) {
    if (!job->not_before || *job->not_before > clock_.steady()) return;
    job->not_before.reset();
    if (job->record.is_replica() && job->id && job->place && job->attempts.empty()) {
      if (node_.gpu(job->place->gpu).drained_by() == nullptr) return start_at_its_place(*job);
      // What ran on a GPU that is not well may run on, but is not started there again.
      leave_engine(*job);
      job->record.state = JobState::queued;
    }
    return enter_queue(*job);
  }
  const auto found = job->attempts.find(key.attempt);
  if (found == job->attempts.end()) return;
  LiveAttempt& attempt = found->second;
  const auto is_due = [&](std::optional<Duration>& time) {
    if (!time || *time > clock_.steady()) return false;
    time.reset();
    return true;
  };
  if (is_due(attempt.stop_at)) book_.later([this, key] { stop_now(key); });
  // One that has ended, and of which it is not yet known why, needs no stop.
  const bool ended =
      std::ranges::find(node_.pending, key, &PendingVerdict::key) != node_.pending.end();
  if (is_due(attempt.time_up) && !ended)
    stop_attempt(*job, key.attempt, AttemptEnd::time_limit, out_of_time_in_words(job->record.spec));
}

void JobLifecycle::watch_time(LiveJob& job, LiveAttempt& attempt) {
  if (!attempt.record.began || attempt.record.end) return;
  const LiveJob& whole = node_.whole(job);
  const auto left = time_left(whole.record, clock_.wall() - *attempt.record.began);
  if (!left) return;
  attempt.time_up = clock_.steady() + *left;
  node_.timers.emplace(*attempt.time_up, attempt.record.key);
}

void JobLifecycle::take_timers() {
  while (!node_.timers.empty() && node_.timers.begin()->first <= clock_.steady()) {
    const JobKey key = node_.timers.begin()->second;
    node_.timers.erase(node_.timers.begin());
    take_timer(key);
  }
}

void JobLifecycle::drop_over() {
  if (!book_.writes()) return;
  std::erase_if(node_.over, [&](JobNumber number) {
    const LiveJob* job = node_.find(number);
    if (job != nullptr && (!job->attempts.empty() || book_.has_changed(number))) return false;
    if (job != nullptr && job->record.leader == 0 && job->record.ended) {
      node_.disk.accounts.end(number, *job->record.ended);
      node_.disk.unweighed.push_back(number);
    }
    if (job != nullptr && !job->faults.empty()) book_.note_setting(faults_key(number), "");
    node_.jobs.erase(number);
    node_.shortage.waits.erase(number);
    return true;
  });
}

}  // namespace cleave
