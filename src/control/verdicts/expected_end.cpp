#include "control/verdicts/expected_end.hpp"

#include <algorithm>

namespace cleave {

namespace {

/// The share of the work with which an attempt begins that follows others.
double begins_with(const LiveJob& job) {
  const Keeps keeps = job.record.spec.progress;
  return keeps == Keeps::checkpoint || keeps == Keeps::stateless ? job.done : 0;
}

Duration part(Duration whole, double share) {
  return Duration{static_cast<std::int64_t>(static_cast<double>(whole.count()) * share)};
}

/// The profile of the attempt's instance; null on a whole GPU.
const Profile* profile_of(const LiveAttempt& attempt, const GpuModel& model) {
  return attempt.record.profile.empty() ? nullptr : model.find(attempt.record.profile);
}

/// A job that still runs ends now at the earliest, however much less time it was given.
ExpectedEnd not_before(Moment now, Instant end, TimeSource source) {
  return {std::max(end, now.wall), source};
}

}  // namespace

/// A service has no end.
KnownJobTimes times_of(const LiveJob& job) {
  if (job.record.is_replica()) return {};
  KnownJobTimes times = declared_times(job.record.spec);
  times.reported = job.reported;
  times.measured = job.measured;
  return times;
}

std::optional<ExpectedEnd> expected_end(const LiveJob& job, const GpuModel& model, Moment now) {
  if (!job.main || is_final(job.record.state) || job.record.is_replica()) return std::nullopt;
  const LiveAttempt& attempt = job.attempts.at(*job.main);
  if (attempt.record.end) return std::nullopt;
  const Profile* profile = profile_of(attempt, model);
  if (profile == nullptr && !attempt.record.profile.empty()) return std::nullopt;
  const ReportedProgress& progress = attempt.progress;
  if (const auto whole = progress.whole(now.steady)) {
    // A report that is late comes now at the earliest, and all others after it.
    const Duration passed = std::min(now.steady - progress.heard_at(), *progress.pace(now.steady));
    const Duration left = part(*whole, 1 - *progress.share()) - passed;
    return not_before(now, now.wall + left, TimeSource::reports);
  }
  const auto time = time_on(times_of(job), model, profile);
  if (!time) return std::nullopt;
  if (const auto share = progress.share())
    return not_before(now,
                      now.wall + part(time->time, 1 - *share) - (now.steady - progress.heard_at()),
                      time->source);
  const Instant began = attempt.record.began.value_or(now.wall);
  return not_before(now, began + part(time->time, 1 - begins_with(job)), time->source);
}

std::optional<ExpectedTime> expected_run(const LiveJob& job, const GpuModel& model,
                                         const Profile* profile) {
  auto time = time_on(times_of(job), model, profile);
  if (time) time->time = part(time->time, 1 - begins_with(job));
  return time;
}

bool learn_pace(LiveJob& job, const LiveAttempt& attempt, const GpuModel& model, Duration steady) {
  if (const auto share = attempt.progress.share()) job.done = *share;
  const auto whole = attempt.progress.whole(steady);
  const Profile* profile = profile_of(attempt, model);
  if (!whole || *whole <= Duration::zero() ||
      (profile == nullptr && !attempt.record.profile.empty()))
    return false;
  job.reported[column_of(model, profile)] = 1 / in_seconds(*whole);
  return true;
}

}  // namespace cleave
