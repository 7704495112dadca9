#include "control/node/job_times.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

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

/// As listed, or by the law from two that are.
std::optional<KnownSpeed> speed_in(const SpeedTable& table, const GpuModel& model,
                                   const Profile* profile, TimeSource there, TimeSource elsewhere) {
  if (const auto speed = listed(table, model, profile)) return KnownSpeed{*speed, there};
  if (!fitted_job(table, model)) return std::nullopt;
  const auto speed = by_law(table, model, profile);
  return speed ? std::optional(KnownSpeed{*speed, elsewhere}) : std::nullopt;
}

using KnowsSpeed = std::optional<KnownSpeed> (*)(const KnownJobTimes& times, const GpuModel& model,
                                                 const Profile* profile);

std::optional<KnownSpeed> declared_speed(const KnownJobTimes& times, const GpuModel& model,
                                         const Profile* profile) {
  if (const auto known =
          speed_in(times.declared, model, profile, TimeSource::declared, TimeSource::law))
    return known;
  if (!times.expected || *times.expected <= Duration::zero() || share_of(model, profile) != 1)
    return std::nullopt;
  return KnownSpeed{1 / in_seconds(*times.expected), TimeSource::declared};
}

std::optional<KnownSpeed> learnt_speed(const KnownJobTimes& times, const GpuModel& model,
                                       const Profile* profile) {
  if (!times.measured) return std::nullopt;
  return speed_in(times.measured->learnt, model, profile, TimeSource::measured,
                  TimeSource::measured_elsewhere);
}

std::optional<KnownSpeed> given_speed(const KnownJobTimes& times, const GpuModel& model,
                                      const Profile* profile) {
  if (!times.measured) return std::nullopt;
  return speed_in(times.measured->given, model, profile, TimeSource::measured,
                  TimeSource::measured_elsewhere);
}

std::optional<KnownSpeed> modelled_speed(const KnownJobTimes& times, const GpuModel& model,
                                         const Profile* profile) {
  if (!times.measured || profile == nullptr) return std::nullopt;
  const auto speed = listed(times.measured->modelled, model, profile);
  return speed ? std::optional(KnownSpeed{*speed, TimeSource::model}) : std::nullopt;
}

/// From a speed on another profile of this model, by the ratio that one of `ratios` has, the first
/// that knows both.
std::optional<KnownSpeed> rescaled(const SpeedTable& table, const KnownJobTimes& times,
                                   const GpuModel& model, const Profile* profile,
                                   std::initializer_list<KnowsSpeed> ratios, TimeSource source) {
  for (const Profile& each : model.profiles) {
    const auto there = listed_speed(table, model, each.name);
    if (!there) continue;
    for (const KnowsSpeed ratio : ratios) {
      const auto of_here = ratio(times, model, profile), of_there = ratio(times, model, &each);
      if (of_here && of_there) return KnownSpeed{*there * of_here->speed / of_there->speed, source};
    }
  }
  return std::nullopt;
}

std::optional<KnownSpeed> guessed_in(const SpeedTable& table, const GpuModel& model,
                                     const Profile* profile) {
  const auto speed = guessed(table, model, profile);
  return speed ? std::optional(KnownSpeed{*speed, TimeSource::guess}) : std::nullopt;
}

/// From the pace on another profile of this model: by the law from two of them, else by the ratio
/// that is known best.
std::optional<KnownSpeed> reported_elsewhere(const KnownJobTimes& times, const GpuModel& model,
                                             const Profile* profile) {
  if (fitted_job(times.reported, model))
    if (const auto speed = by_law(times.reported, model, profile))
      return KnownSpeed{*speed, TimeSource::earlier_reports};
  if (const auto known = rescaled(times.reported, times, model, profile,
                                  {declared_speed, learnt_speed, given_speed, modelled_speed},
                                  TimeSource::earlier_reports))
    return known;
  return guessed_in(times.reported, model, profile);
}

std::optional<KnownSpeed> measured_speed(const KnownJobTimes& times, const GpuModel& model,
                                         const Profile* profile) {
  if (!times.measured) return std::nullopt;
  if (const auto known = learnt_speed(times, model, profile)) return known;
  if (const auto known = rescaled(times.measured->learnt, times, model, profile,
                                  {given_speed, modelled_speed}, TimeSource::measured_elsewhere))
    return known;
  if (const auto known = given_speed(times, model, profile)) return known;
  return modelled_speed(times, model, profile);
}

std::optional<KnownSpeed> guess_from_one(const KnownJobTimes& times, const GpuModel& model,
                                         const Profile* profile) {
  // Where the law knows the job, what it leaves out is where the job may not fit.
  if (fitted_job(times.declared, model)) return std::nullopt;
  if (const auto known = guessed_in(times.declared, model, profile)) return known;
  if (times.expected && *times.expected > Duration::zero())
    return KnownSpeed{share_of(model, profile) / in_seconds(*times.expected), TimeSource::guess};
  if (!times.measured) return std::nullopt;
  for (const SpeedTable* table : {&times.measured->learnt, &times.measured->given}) {
    if (fitted_job(*table, model)) return std::nullopt;
    if (const auto known = guessed_in(*table, model, profile)) return known;
  }
  return std::nullopt;
}

std::optional<KnownSpeed> known_speed(const KnownJobTimes& times, const GpuModel& model,
                                      const Profile* profile) {
  if (const auto speed = listed(times.reported, model, profile))
    return KnownSpeed{*speed, TimeSource::reports};
  for (const KnowsSpeed knows :
       {reported_elsewhere, declared_speed, measured_speed, guess_from_one})
    if (const auto known = knows(times, model, profile)) return known;
  return std::nullopt;
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
