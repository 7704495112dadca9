#include "control/verdicts/process_verdicts.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "control/verdicts/health_verdicts.hpp"

namespace cleave {

namespace {

using VerdictKind = JobVerdict::Kind;

constexpr std::int64_t most_failed_starts = 3;
constexpr Duration day = std::chrono::hours(24);
constexpr std::string_view ask_for_another_run =
    "submit it with --restartable or --retry to have it run again";

JobVerdict finished(JobState state, std::string reason, std::optional<int> exit_code) {
  return {.kind = VerdictKind::finish,
          .state = state,
          .reason = std::move(reason),
          .exit_code = exit_code};
}

JobVerdict rebuild(std::string why) {
  return {.kind = VerdictKind::rebuild, .reason = std::move(why)};
}

/// As the subject of a reason: which of several processes it was is what people look for.
std::string subject(const LiveJob& job) {
  if (job.record.processes() == 1) return "it";
  return fmt::format("process {}", job.record.rank());
}

std::string not_started(const LiveJob& job, const std::string& why) {
  return fmt::format("{} could not be started: {}", subject(job), why);
}

/// A retry where one is left; else the job has failed.
JobVerdict retry_or_fail(const JobRecord& job, const std::string& why, std::string if_none_left,
                         std::optional<int> exit_code) {
  if (job.failures >= job.spec.retries)
    return finished(JobState::failed, std::move(if_none_left), exit_code);
  return {.kind = VerdictKind::retry,
          .reason = fmt::format("{}; attempt {} of {} follows", why, job.failures + 2,
                                job.spec.retries + 1)};
}

/// After an attempt that failed soon after something happened to its GPU, or was stopped for that.
JobVerdict judge_blamed(const LiveJob& job, const LiveAttempt& attempt, const std::string& why,
                        std::optional<int> exit_code) {
  const GpuBlame& blame = *attempt.blame;
  if (blame.of_job)
    return finished(JobState::failed,
                    fmt::format("{}; the same has happened to it on another GPU, so the job is "
                                "taken for the cause",
                                why),
                    exit_code);
  const bool may_run_again = may_be_restarted(job.record.spec) || !attempt.record.began ||
                             job.record.failures < job.record.spec.retries;
  if (!may_run_again)
    return finished(JobState::failed, fmt::format("{}; {}", why, ask_for_another_run), exit_code);
  if (blame.count <= most_free_runs)
    return {.kind = VerdictKind::wait_again,
            .reason = fmt::format("{}; it runs again, and no retry is counted", why)};
  const std::string often =
      fmt::format("{}, the {}th time within a day that this happened to it", why, blame.count);
  return retry_or_fail(job.record, often, often, exit_code);
}

/// After an attempt that was being stopped for a reason of ours, or was lost.
JobVerdict judge_stopped(const LiveJob& job, const LiveAttempt& attempt, AttemptEnd end,
                         const std::string& why, std::optional<int> exit_code) {
  if (job.record.cancelled) {
    if (job.attempts.size() > 1) return {};
    return finished(JobState::cancelled, job.record.reason, exit_code);
  }
  // Another attempt is the job. The last one of a job that moves by its checkpoint leaves it to go
  // on where it is placed by now.
  if (end == AttemptEnd::moved && job.attempts.size() > 1) return {};
  if (end == AttemptEnd::idle) return finished(JobState::finished, why, exit_code);
  if (end == AttemptEnd::time_limit) return finished(JobState::failed, why, exit_code);
  if (end != AttemptEnd::lost) return {.kind = VerdictKind::carry_on, .reason = why};
  if (attempt.blame && !job.record.is_replica()) return judge_blamed(job, attempt, why, exit_code);
  if (may_be_restarted(job.record.spec) || !attempt.record.began)
    return {.kind = VerdictKind::wait_again, .reason = why};
  return retry_or_fail(job.record, why, fmt::format("{}; {}", why, ask_for_another_run), exit_code);
}

JobVerdict judge_stopped(const LiveJob& job, const LiveAttempt& attempt,
                         std::optional<int> exit_code) {
  return judge_stopped(job, attempt, *attempt.record.end, attempt.record.why, exit_code);
}

/// With this end, which came after so long.
std::int64_t quick_ends_of(const LiveJob& job, std::optional<Duration> lasted) {
  const bool quick = !lasted || *lasted < long_run;
  return quick ? job.quick_ends + 1 : 1;
}

/// What is to run again waits a while before, so that what ends at once does not keep the machine
/// busy.
JobVerdict delayed(const LiveJob& job, std::optional<Duration> lasted, JobVerdict verdict) {
  if (verdict.kind != VerdictKind::retry && verdict.kind != VerdictKind::wait_again) return verdict;
  verdict.quick_ends = quick_ends_of(job, lasted);
  verdict.delay = restart_delay(verdict.quick_ends);
  return verdict;
}

JobVerdict judge_unstarted_replica(const LiveJob& job, const std::string& why, int code) {
  JobVerdict verdict = judge_replica(job, std::nullopt, not_started(job, why));
  if (shortage_of(code) != nullptr) verdict.short_of = code;
  return verdict;
}

/// It waits, and neither a retry nor a failed start is counted: the job has no part in it.
JobVerdict judge_shortage(const LiveJob& job, const Shortage& shortage, const std::string& why) {
  const Duration delay = restart_delay(job.short_starts + 1);
  return {.kind = VerdictKind::start_later,
          .reason = fmt::format("{} waits, since {}, and is tried again after {}: {}", subject(job),
                                shortage.what, human(delay), why),
          .delay = delay,
          .short_of = shortage.code};
}

JobVerdict judge_unstartable(const LiveJob& job, std::int64_t number, const std::string& why,
                             int code) {
  const LiveAttempt& attempt = job.attempts.at(number);
  if (is_final(job.record.state)) return {};
  if (attempt.record.end) return judge_stopped(job, attempt, std::nullopt);
  if (another_counts(job, number)) return rebuild("a replica was not started");
  if (job.record.is_replica()) return judge_unstarted_replica(job, why, code);
  if (const Shortage* shortage = shortage_of(code)) return judge_shortage(job, *shortage, why);
  return finished(JobState::failed, not_started(job, why), std::nullopt);
}

JobVerdict judge_out_of_memory(const LiveJob& job, const std::string& where, int code) {
  if (may_be_restarted(job.record.spec))
    return {.kind = VerdictKind::larger_instance,
            .reason = fmt::format("{} ran out of memory on {} and waits for a larger instance",
                                  subject(job), where),
            .exit_code = code};
  return finished(
      JobState::failed,
      fmt::format("{} ran out of memory on {}; submit it with --restartable, or ask for more",
                  subject(job), where),
      code);
}

/// Of a process that ended well. One that did so although it was about to be stopped has done its
/// work; but after a signal to save what it did, programs end well that have more to do, unless
/// they have reported their last iteration. Of an attempt that an older copy of the store does not
/// know, nor knows whether it was sent one: rather twice than never.
bool has_done_its_work(const JobSpec& spec, const LiveAttempt& attempt,
                       const ProcessOutcome& outcome) {
  if (!outcome.reports.empty()) {
    const MemoryReport& last = outcome.reports.back().report;
    if (last.iterations && last.iteration >= *last.iterations) return true;
  }
  if (!spec.checkpoint_command.empty()) return !outcome.stopped && !outcome.checkpointed;
  const auto& end = attempt.record.end;
  const bool unknown = end == AttemptEnd::lost && !attempt.watched;
  if (unknown && spec.checkpoint_signal != 0 && may_be_restarted(spec)) return false;
  if (attempt.record.told_to_save || attempt.stop_at) return false;
  return !outcome.stopped && !(end && signals_first(spec, attempt, *end));
}

}  // namespace

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

bool ran_out_of_memory(const JobSpec& spec, const LiveAttempt& attempt,
                       const ProcessOutcome& outcome, std::span<const int> out_of_memory_codes) {
  const auto code = exit_code_of(outcome);
  if (!code || *code == 0) return false;
  return outcome.out_of_memory || attempt.beyond || spec.out_of_memory_code == code ||
         std::ranges::find(out_of_memory_codes, *code) != out_of_memory_codes.end();
}

bool is_doubtful(const LiveJob& job, const LiveAttempt& attempt, const ProcessOutcome& outcome,
                 const ManagedGpu& gpu, std::span<const int> out_of_memory_codes) {
  const auto code = exit_code_of(outcome);
  if (!code || *code == 0 || outcome.stopped || !attempt.placed || attempt.record.end) return false;
  if (job.record.cancelled || is_final(job.record.state)) return false;
  if (ran_out_of_memory(job.record.spec, attempt, outcome, out_of_memory_codes)) return false;
  return !gpu.lost && !gpu.hung;
}

bool another_counts(const LiveJob& job, std::int64_t attempt) {
  return job.main && *job.main != attempt && !job.attempts.at(*job.main).record.end;
}

AttemptVerdict judge_end(const LiveJob& job, std::int64_t number, const ProcessOutcome& outcome,
                         const EndRules& rules) {
  const auto code = exit_code_of(outcome);
  if (!code)
    return {AttemptEnd::not_started, outcome.reason, std::nullopt,
            judge_unstartable(job, number, outcome.reason, outcome.code)};
  const LiveAttempt& attempt = job.attempts.at(number);
  const bool other = another_counts(job, number);
  const bool starved =
      !attempt.record.end && !other &&
      ran_out_of_memory(job.record.spec, attempt, outcome, rules.out_of_memory_codes);
  const bool done = *code == 0 && has_done_its_work(job.record.spec, attempt, outcome);
  AttemptVerdict verdict{starved ? AttemptEnd::out_of_memory : AttemptEnd::ended_itself,
                         in_words(outcome),
                         code,
                         {},
                         outcome.lasted,
                         outcome.checkpointed};
  if (is_final(job.record.state)) return verdict;
  if (done && job.replica != number && !job.record.is_replica()) {
    verdict.job = finished(JobState::finished, {}, code);
    verdict.job.remembers_need = true;
  } else if (attempt.record.end) {
    verdict.job = judge_stopped(job, attempt, code);
  } else if (other) {
    verdict.job = rebuild("a replica failed");
  } else if (job.record.cancelled) {
    verdict.job = finished(JobState::cancelled, job.record.reason, code);
  } else if (outcome.checkpointed) {  // asked for before the store lost it, or took it back
    verdict.end = AttemptEnd::made_room;
    verdict.why = "it was checkpointed";
    verdict.job = {.kind = VerdictKind::wait_again, .reason = verdict.why};
  } else if (starved) {
    verdict.job = judge_out_of_memory(job, rules.where, *code);
  } else if (job.record.is_replica()) {
    verdict.job = judge_replica(job, outcome.lasted, fmt::format("it {}", in_words(outcome)));
  } else if (attempt.blame && !outcome.used_up && rules.now <= attempt.blame->until) {
    verdict.end = AttemptEnd::lost;
    verdict.why = fmt::format("{} after {}", in_words(outcome), attempt.blame->why);
    verdict.job = judge_blamed(job, attempt, fmt::format("{} {}", subject(job), verdict.why), code);
  } else {
    std::string why = fmt::format("{} {}", subject(job), in_words(outcome));
    if (outcome.used_up) why += "; it may have more if it is submitted with a larger --host-memory";
    verdict.job = delayed(job, outcome.lasted, retry_or_fail(job.record, why, why, code));
  }
  return verdict;
}

Duration restart_delay(std::int64_t in_row) {
  Duration delay = first_restart_delay;
  for (std::int64_t i = 1; i < in_row && delay < longest_restart_delay; ++i) delay *= 2;
  return std::min(delay, longest_restart_delay);
}

JobVerdict judge_replica(const LiveJob& job, std::optional<Duration> lasted,
                         const std::string& why) {
  const std::int64_t quick_ends = quick_ends_of(job, lasted);
  const Duration delay = restart_delay(quick_ends);
  return {.kind = VerdictKind::start_again,
          .reason = fmt::format("{}, and is started again after {}", why, human(delay)),
          .delay = delay,
          .quick_ends = quick_ends};
}

AttemptVerdict judge_lost(const LiveJob& job, std::int64_t number, const SupervisorLost& lost,
                          std::optional<Duration> lasted) {
  std::string why = "its supervisor was killed";
  if (lost.leftovers > 0) why += fmt::format(", and {} processes with it", lost.leftovers);
  if (!lost.trouble.empty()) why += fmt::format(" ({})", lost.trouble);
  const LiveAttempt& attempt = job.attempts.at(number);
  AttemptVerdict verdict{AttemptEnd::lost, why, std::nullopt, {}};
  if (is_final(job.record.state)) return verdict;
  if (another_counts(job, number)) {
    verdict.job = rebuild("a replica was lost");
  } else if (attempt.record.end) {
    verdict.job = judge_stopped(job, attempt, std::nullopt);
  } else {
    verdict.job =
        delayed(job, lasted, judge_stopped(job, attempt, AttemptEnd::lost, why, std::nullopt));
  }
  return verdict;
}

AttemptVerdict judge_not_started(const LiveJob& job, std::int64_t number, const std::string& why,
                                 int code) {
  AttemptVerdict verdict{AttemptEnd::not_started, why, std::nullopt, {}};
  const LiveAttempt& attempt = job.attempts.at(number);
  if (is_final(job.record.state)) return verdict;
  const std::int64_t failed_starts = job.not_started + 1;
  if (another_counts(job, number)) {
    verdict.job = rebuild("a replica was not started");
  } else if (attempt.record.end) {
    verdict.job = judge_stopped(job, attempt, std::nullopt);
  } else if (job.record.is_replica()) {
    verdict.job = judge_unstarted_replica(job, why, code);
  } else if (const Shortage* shortage = shortage_of(code)) {
    verdict.job = judge_shortage(job, *shortage, why);
  } else if (failed_starts >= most_failed_starts) {
    verdict.job = finished(JobState::failed, not_started(job, why), std::nullopt);
  } else {
    verdict.job = {
        .kind = VerdictKind::start_later,
        .reason = fmt::format("{} could not be started and is tried again: {}", subject(job), why),
        .delay = std::chrono::seconds(1LL << failed_starts)};
  }
  return verdict;
}

AttemptVerdict judge_held_up(const LiveJob& job, std::int64_t number, const std::string& why) {
  AttemptVerdict verdict{AttemptEnd::not_started, why, std::nullopt, {}};
  const LiveAttempt& attempt = job.attempts.at(number);
  if (is_final(job.record.state)) return verdict;
  if (another_counts(job, number)) {
    verdict.job = rebuild("a replica was not started");
  } else if (attempt.record.end) {
    verdict.job = judge_stopped(job, attempt, std::nullopt);
  } else {
    verdict.job = {.kind = VerdictKind::wait_again, .reason = why};
  }
  return verdict;
}

AttemptVerdict judge_given_up(const LiveJob& job, std::int64_t number) {
  const LiveAttempt& attempt = job.attempts.at(number);
  AttemptVerdict verdict{*attempt.record.end, attempt.record.why, std::nullopt, {}};
  if (!is_final(job.record.state)) verdict.job = judge_stopped(job, attempt, std::nullopt);
  return verdict;
}

JobVerdict judge_lost_place(const LiveJob& job, std::int64_t number, const std::string& why) {
  return judge_stopped(job, job.attempts.at(number), AttemptEnd::lost, why, std::nullopt);
}

bool is_done(const AttemptVerdict& verdict) {
  return verdict.job.kind == VerdictKind::finish && verdict.job.state == JobState::finished;
}

bool decides(const LiveJob& process, const LiveAttempt& attempt, const AttemptVerdict& verdict) {
  if (!process.record.has_process() && verdict.end != AttemptEnd::lost) return false;
  return !is_done(verdict) && verdict.job.kind != VerdictKind::nothing &&
         attempt.record.end != AttemptEnd::gang;
}

JobVerdict judge_run(const LiveJob& job, std::span<const LiveJob* const> processes) {
  const auto began = [](const LiveJob* process) {
    return std::ranges::any_of(process->attempts, [](const auto& attempt) {
      return attempt.second.record.began.has_value();
    });
  };
  const bool may_run_again =
      may_be_restarted(job.record.spec) || std::ranges::none_of(processes, began);
  if (job.run_end) {
    // The process that decided it may not have begun, but others have.
    const bool again = job.run_end->kind == VerdictKind::wait_again ||
                       job.run_end->kind == VerdictKind::start_later;
    if (!again || may_run_again) return *job.run_end;
    return delayed(job, std::nullopt,
                   retry_or_fail(job.record, job.run_end->reason,
                                 fmt::format("{}; {}", job.run_end->reason, ask_for_another_run),
                                 std::nullopt));
  }
  const auto done = [](const LiveJob* process) {
    if (!process->record.has_process()) return true;
    // After a loss of power there may be no trace of one.
    return !process->attempts.empty() &&
           std::ranges::all_of(process->attempts, [](const auto& attempt) {
             return attempt.second.over && is_done(attempt.second.over->verdict);
           });
  };
  if (std::ranges::all_of(processes, done)) return finished(JobState::finished, {}, 0);
  if (!may_run_again)
    return retry_or_fail(job.record, job.record.reason,
                         fmt::format("{}; {}", job.record.reason, ask_for_another_run),
                         std::nullopt);
  return {.kind = VerdictKind::carry_on, .reason = job.record.reason};
}

bool may_replace(std::optional<AttemptEnd> recorded, AttemptEnd end) {
  if (!recorded) return true;
  return end == AttemptEnd::cancelled && *recorded != AttemptEnd::cancelled;
}

bool saves_first(const JobSpec& spec, AttemptEnd end) {
  const bool goes_on = end == AttemptEnd::early_restart || end == AttemptEnd::made_room ||
                       end == AttemptEnd::gang || end == AttemptEnd::idle ||
                       end == AttemptEnd::time_limit ||
                       (end == AttemptEnd::moved && moves_by_checkpoint(spec));
  return goes_on && is_told_to_save(spec);
}

bool signals_first(const JobSpec& spec, const LiveAttempt& attempt, AttemptEnd end) {
  return saves_first(spec, end) && attempt.record.began;
}

GpuStep::Kind step_of_move(const LiveJob& job) {
  const bool runs = job.main && !job.attempts.at(*job.main).record.end;
  if (!runs) return GpuStep::Kind::start;
  return moves_by_checkpoint(job.record.spec) ? GpuStep::Kind::hand_over : GpuStep::Kind::replica;
}

bool waits(const LiveJob& job) {
  if (is_final(job.record.state) || job.record.cancelled || job.not_before) return false;
  if (!job.awaits.empty()) return false;
  if (job.on_its_way) return false;  // the plan starts it
  return std::ranges::all_of(job.attempts, [](const auto& attempt) {
    const auto& end = attempt.second.record.end;
    return end == AttemptEnd::early_restart || end == AttemptEnd::made_room ||
           end == AttemptEnd::moved || end == AttemptEnd::gang;
  });
}

std::vector<Instant> restarts_of_last_day(std::span<const Instant> restarts, Instant now) {
  std::vector<Instant> recent;
  std::ranges::copy_if(restarts, std::back_inserter(recent),
                       [&](Instant when) { return now - when <= day; });
  return recent;
}

bool may_restart_early(std::span<const Instant> restarts, Instant now, std::int64_t most_a_day) {
  const auto recent =
      std::ranges::count_if(restarts, [&](Instant when) { return now - when <= day; });
  return recent < most_a_day;
}

}  // namespace cleave
