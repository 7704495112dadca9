#include "control/verdicts/lesson.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave {

namespace {

/// "2026-11-23T08:15:00Z"
std::string date_text(Instant instant) {
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{std::chrono::floor<std::chrono::seconds>(instant - day)};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

/// Where it is one that a repository can name: drivers may know others.
std::optional<ProfileKey> key_of(const LiveJob& job, const LiveAttempt& attempt,
                                 const GpuModel& model) {
  const JobSpec& spec = job.record.spec;
  if (!spec.application || batch_of(spec) > most_measured_batch) return std::nullopt;
  const auto known = find_gpu_model(model.key);
  const std::string& profile = attempt.record.profile;
  if (!known || (!profile.empty() && (*known)->find(profile) == nullptr)) return std::nullopt;
  return ProfileKey{*spec.application, std::string((*known)->key), batch_of(spec),
                    profile.empty() ? std::string(no_mig) : profile, false};
}

/// Reports come from users' programs, and a repository does not take everything.
bool readable(const ProfileRecord& record) {
  ProfileRepository repository;
  return add_profiles(repository, profile_text(record), "lesson", MergeRule::mean).has_value();
}

}  // namespace

bool begins_anew(const JobSpec& spec, std::int64_t attempt, const ReportedProgress& progress) {
  // Reports that come by time tell of some iterations at once.
  constexpr std::int64_t few = 10, fiftieth = 50;
  if (progress.begun_at() > std::max(few, progress.total().value_or(0) / fiftieth)) return false;
  return attempt == 1 || (spec.progress == Keeps::nothing && !spec.movable);
}

std::optional<ProfileRecord> lesson_of(const LiveJob& job, const LiveAttempt& attempt,
                                       const ProcessOutcome& outcome, bool finished,
                                       const GpuModel& model, Instant now) {
  const bool whole = finished && attempt.watched && !attempt.shared &&
                     begins_anew(job.record.spec, attempt.record.key.attempt, attempt.progress);
  auto key = key_of(job, attempt, model);
  if (!whole || !key) return std::nullopt;
  ProfileRecord record;
  record.key = std::move(*key);
  if (outcome.lasted > Duration::zero()) record.time_s = in_seconds(outcome.lasted);
  // What ended well did not hold more than there is; a program may have asked for it in vain.
  const auto& peak = attempt.record.peak;
  if (peak && (!attempt.capacity || *peak <= *attempt.capacity)) record.peak_memory = peak;
  if (!record.time_s && !record.peak_memory) return std::nullopt;
  record.counters = attempt.busy.counters(outcome.lasted);
  record.date = date_text(now);
  return readable(record) ? std::optional(std::move(record)) : std::nullopt;
}

}  // namespace cleave
