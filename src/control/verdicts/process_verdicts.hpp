#pragma once
// What it means for a job that one of its processes has ended, or never began. Pure functions: they
// read the job as it was before the attempt is closed and return what is to be done. It is done
// by loop/job_lifecycle.hpp.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "control/node/live_job.hpp"
#include "control/node/managed_gpu.hpp"
#include "control/node/verdict.hpp"
#include "runner/process_outcome.hpp"
#include "runner/runner.hpp"

namespace cleave {

/// What judging the end of a process needs beside the job.
struct EndRules {
  std::span<const int> out_of_memory_codes;  // exit statuses that mean it, for all jobs
  std::string where;                         // the attempt ran, for people
  Duration now{};                            // on the steady clock
};

/// The exit status, or 128 + signal; nothing where the process was not started.
[[nodiscard]] std::optional<int> exit_code_of(const ProcessOutcome& outcome);

[[nodiscard]] bool ran_out_of_memory(const JobSpec& spec, const LiveAttempt& attempt,
                                     const ProcessOutcome& outcome,
                                     std::span<const int> out_of_memory_codes);

/// Whether the GPU may be why the process failed: programs fail at once when their GPU or their
/// instance goes, before anyone has looked at it. Then the next observation decides.
[[nodiscard]] bool is_doubtful(const LiveJob& job, const LiveAttempt& attempt,
                               const ProcessOutcome& outcome, const ManagedGpu& gpu,
                               std::span<const int> out_of_memory_codes);

/// Whether another attempt counts: it runs, and nothing wants it to stop.
[[nodiscard]] bool another_counts(const LiveJob& job, std::int64_t attempt);

/// The process of this attempt has ended, or its supervisor could not start it.
[[nodiscard]] AttemptVerdict judge_end(const LiveJob& job, std::int64_t attempt,
                                       const ProcessOutcome& outcome, const EndRules& rules);
/// Its supervisor was killed; it had run for `lasted`, as far as that is known.
[[nodiscard]] AttemptVerdict judge_lost(const LiveJob& job, std::int64_t attempt,
                                        const SupervisorLost& lost,
                                        std::optional<Duration> lasted = {});
/// A replica has ended, with whatever exit code, or could not be started: it is started again. The
/// delay doubles with each end in a row that comes soon after the start.
[[nodiscard]] JobVerdict judge_replica(const LiveJob& job, std::optional<Duration> lasted,
                                       const std::string& why);
/// Before the next try after so many of them in a row: it doubles with each.
[[nodiscard]] Duration restart_delay(std::int64_t in_row);
inline constexpr Duration first_restart_delay = std::chrono::seconds(1);
inline constexpr Duration longest_restart_delay = std::chrono::minutes(5);
/// What ran for so long was well.
inline constexpr Duration long_run = std::chrono::minutes(10);

/// Nothing of it ever ran, for `why`; it is not at fault, and is tried again a few times. Where the
/// error number is that of a shortage of the host, it is tried for as long as that lasts.
[[nodiscard]] AttemptVerdict judge_not_started(const LiveJob& job, std::int64_t attempt,
                                               const std::string& why, int code = 0);

/// Nothing of it ever ran, since its start was held up for too long: it waits again at once, and
/// no failed start is counted.
[[nodiscard]] AttemptVerdict judge_held_up(const LiveJob& job, std::int64_t attempt,
                                           const std::string& why);

/// A place of whole GPUs without a process of its own is being given up.
[[nodiscard]] AttemptVerdict judge_given_up(const LiveJob& job, std::int64_t attempt);
/// The place of a process that has ended is gone, while others of its job run.
[[nodiscard]] JobVerdict judge_lost_place(const LiveJob& job, std::int64_t attempt,
                                          const std::string& why);

/// Whether the process has done its work, and well.
[[nodiscard]] bool is_done(const AttemptVerdict& verdict);
/// Whether this end of one of several processes decides what becomes of their job: not where it
/// has done its work, or was stopped on account of another. A place without a process does so only
/// where it is lost: else the process that saw it says how the run ended.
[[nodiscard]] bool decides(const LiveJob& process, const LiveAttempt& attempt,
                           const AttemptVerdict& verdict);
/// What becomes of a job of several when all processes of a run have ended.
[[nodiscard]] JobVerdict judge_run(const LiveJob& job, std::span<const LiveJob* const> processes);

/// Whether an attempt that is being stopped for `recorded`, or for nothing yet, is now to be
/// stopped for `end`: only the job's own end is stronger than what is recorded.
[[nodiscard]] bool may_replace(std::optional<AttemptEnd> recorded, AttemptEnd end);
/// Whether an attempt that is stopped for this is told to save its work before: the job goes on
/// later, or is a lease that is given back, or is out of time, and the user asked for it.
[[nodiscard]] bool saves_first(const JobSpec& spec, AttemptEnd end);
/// Whether the job's checkpoint signal precedes the stop: it saves first, and its program has
/// begun.
[[nodiscard]] bool signals_first(const JobSpec& spec, const LiveAttempt& attempt, AttemptEnd end);

/// How a job that is to move begins at its new place: its process may have to end first, or be
/// gone already.
[[nodiscard]] GpuStep::Kind step_of_move(const LiveJob& job);

/// Whether the job belongs into the queue: it waits for an instance, and no process of it counts.
[[nodiscard]] bool waits(const LiveJob& job);

/// Those early restarts that count against the daily limit.
[[nodiscard]] std::vector<Instant> restarts_of_last_day(std::span<const Instant> restarts,
                                                        Instant now);
[[nodiscard]] bool may_restart_early(std::span<const Instant> restarts, Instant now,
                                     std::int64_t most_a_day);

}  // namespace cleave
