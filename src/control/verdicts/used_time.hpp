#pragma once
// How long a job has run of its time limit. The clock of a job runs while its process does, and
// goes on from one attempt to the next: retries and restarts share one limit. Only where Cleave or
// the machine ended an attempt, and the job keeps nothing of its work, does that attempt not count:
// the job begins again as if it had not been there. Services have no limit. Pure functions.

#include <optional>

#include "control/node/live_job.hpp"
#include "control/node/verdict.hpp"

namespace cleave {

/// Whether an attempt that ended so counts.
[[nodiscard]] bool counts_as_used(const JobSpec& spec, AttemptEnd end);
/// What an attempt that is over adds to the job's time: as long as its process lasted, else by the
/// wall clock.
[[nodiscard]] Duration used_by(const JobSpec& spec, const AttemptRecord& attempt);
/// What is left to an attempt that began this time ago; nothing where there is no limit.
[[nodiscard]] std::optional<Duration> time_left(const JobRecord& job, Duration since_begin);
/// "it has run for 2 h, its time limit"
[[nodiscard]] std::string out_of_time_in_words(const JobSpec& spec);
/// The verdict, or where it has the job run again and no time is left, that it has failed.
[[nodiscard]] JobVerdict within_time_limit(const JobRecord& job, JobVerdict verdict);

}  // namespace cleave
