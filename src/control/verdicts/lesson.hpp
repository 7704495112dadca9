#pragma once
// What an attempt that has ended teaches of its job's application: a record for a profile
// repository. A pure function.
//
// Only whole work teaches: the attempt began it, alone in its instance, ended well, and this loop
// saw it from its start to its end. Of others neither the time nor the peak is known: what one did
// before, or would have done, was not seen, and what it says of its pace may be a guess.

#include <optional>

#include "control/node/live_job.hpp"
#include "runner/process_outcome.hpp"

namespace cleave {

/// Nothing where the job names no application, or where the whole work was not seen. `finished`:
/// the job is over with this attempt, and ended well. `now`: the date of the record.
[[nodiscard]] std::optional<ProfileRecord> lesson_of(const LiveJob& job, const LiveAttempt& attempt,
                                                     const ProcessOutcome& outcome, bool finished,
                                                     const GpuModel& model, Instant now);

/// Whether the attempt began its job's work from the beginning, as far as is sure: it is the first,
/// or the job said that it keeps nothing, and what it reported first is near the beginning.
[[nodiscard]] bool begins_anew(const JobSpec& spec, std::int64_t attempt,
                               const ReportedProgress& progress);

}  // namespace cleave
