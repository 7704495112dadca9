#pragma once
// When a running job is expected to end. A pure function: by what it reports where it does, else by
// what is known of its time on the instance (node/job_times.hpp), less what it has done.

#include <optional>

#include "control/moment.hpp"
#include "control/node/job_times.hpp"
#include "control/node/live_job.hpp"

namespace cleave {

/// An end, on the wall clock, and how it is known. It may have passed: the job takes longer.
struct ExpectedEnd {
  Instant at{};
  TimeSource source = TimeSource::guess;
  friend bool operator==(const ExpectedEnd&, const ExpectedEnd&) = default;
};

/// What is known of the job's times: what its user said, and what it has reported.
[[nodiscard]] KnownJobTimes times_of(const LiveJob& job);

/// Of the attempt that counts, on a GPU of this model; empty where no time is known, or none runs.
[[nodiscard]] std::optional<ExpectedEnd> expected_end(const LiveJob& job, const GpuModel& model,
                                                      Moment now);

/// How long an attempt that begins now runs on the profile, or on the whole GPU where that is null;
/// empty where nothing is known.
[[nodiscard]] std::optional<ExpectedTime> expected_run(const LiveJob& job, const GpuModel& model,
                                                       const Profile* profile);

/// Takes over what the attempt's reports say of the job's pace on its profile, and how much of its
/// work is done. Returns whether the pace is known.
bool learn_pace(LiveJob& job, const LiveAttempt& attempt, const GpuModel& model, Duration steady);

}  // namespace cleave
