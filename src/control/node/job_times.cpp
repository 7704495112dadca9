#include "control/node/job_times.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "model/speed_table.hpp"
#include "physics/speed.hpp"
#include "physics/speed_law.hpp"

namespace cleave {

namespace {

/// Relative to the largest profile, by the share of the processors.
double share_of(const GpuModel& model, const Profile* profile) {
  const auto speed =
      profile != nullptr ? speed_on({}, model, *profile) : speed_on_whole_gpu({}, model);
  return speed ? speed->relative : 1;
}

/// A speed in units of work a second.
struct KnownSpeed {
  double speed;
  TimeSource source;
};

std::optional<double> listed(const SpeedTable& table, const GpuModel& model,
                             const Profile* profile) {
  return listed_speed(table, model, profile != nullptr ? profile->name : mig_off);
}

/// By the law from what the table lists of this model. Without MIG a job is as fast as on the
/// largest profile.
std::optional<double> by_law(const SpeedTable& table, const GpuModel& model,
                             const Profile* profile) {
  return completed_speed(table, model, profile != nullptr ? *profile : model.largest());
}

/// From one profile of the table.
std::optional<double> guessed(const SpeedTable& table, const GpuModel& model,
                              const Profile* profile) {
  for (const Profile& each : model.profiles)
    if (const auto speed = listed_speed(table, model, each.name))
      return *speed * share_of(model, profile) / share_of(model, &each);
  if (const auto speed = listed_speed(table, model, mig_off))
    return *speed * share_of(model, profile) / share_of(model, nullptr);
  return std::nullopt;
}

std::optional<KnownSpeed> declared_speed(const KnownJobTimes& times, const GpuModel& model,
                                         const Profile* profile) {
  if (const auto speed = listed(times.declared, model, profile))
    return KnownSpeed{*speed, TimeSource::declared};
  if (fitted_job(times.declared, model)) {
    const auto speed = by_law(times.declared, model, profile);
    return speed ? std::optional(KnownSpeed{*speed, TimeSource::law}) : std::nullopt;
  }
  if (const auto speed = guessed(times.declared, model, profile))
    return KnownSpeed{*speed, TimeSource::guess};
  if (!times.expected || *times.expected <= Duration::zero()) return std::nullopt;
  const double whole = 1 / in_seconds(*times.expected);
  const double share = share_of(model, profile);
  return KnownSpeed{whole * share, share == 1 ? TimeSource::declared : TimeSource::guess};
}

/// From the pace on another profile of this model: by the law from two of them, else by the ratio
/// that the declared times have.
std::optional<KnownSpeed> rescaled_speed(const KnownJobTimes& times, const GpuModel& model,
                                         const Profile* profile) {
  if (fitted_job(times.reported, model))
    if (const auto speed = by_law(times.reported, model, profile))
      return KnownSpeed{*speed, TimeSource::earlier_reports};
  for (const Profile& each : model.profiles) {
    const auto there = listed_speed(times.reported, model, each.name);
    if (!there) continue;
    const auto here = declared_speed(times, model, profile);
    const auto declared = declared_speed(times, model, &each);
    const bool known = here && declared && here->source != TimeSource::guess &&
                       declared->source != TimeSource::guess;
    if (known)
      return KnownSpeed{*there * here->speed / declared->speed, TimeSource::earlier_reports};
    break;
  }
  const auto speed = guessed(times.reported, model, profile);
  return speed ? std::optional(KnownSpeed{*speed, TimeSource::guess}) : std::nullopt;
}

std::optional<KnownSpeed> known_speed(const KnownJobTimes& times, const GpuModel& model,
                                      const Profile* profile) {
  if (const auto speed = listed(times.reported, model, profile))
    return KnownSpeed{*speed, TimeSource::reports};
  if (const auto speed = rescaled_speed(times, model, profile)) return speed;
  return declared_speed(times, model, profile);
}

}  // namespace

KnownJobTimes declared_times(const JobSpec& spec) {
  KnownJobTimes times;
  times.expected = spec.expected;
  for (const StatedTime& each : spec.times)
    if (each.time > Duration::zero()) times.declared[each.profile] = 1 / in_seconds(each.time);
  return times;
}

std::string column_of(const GpuModel& model, const Profile* profile) {
  return fmt::format("{}:{}", model.key, profile != nullptr ? profile->name : mig_off);
}

std::optional<ExpectedTime> time_on(const KnownJobTimes& times, const GpuModel& model,
                                    const Profile* profile) {
  const auto known = known_speed(times, model, profile);
  if (!known || !(known->speed > 0)) return std::nullopt;
  constexpr auto longest = static_cast<double>(longest_duration.count());
  const double ns = std::min(1e9 / known->speed, longest);
  return ExpectedTime{Duration{std::max<std::int64_t>(1, std::llround(ns))}, known->source};
}

}  // namespace cleave
