#include "engine/schedulers/miso_speeds.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace cleave {

namespace {

constexpr double fastest = 1000;  // times the largest profile; keeps sums in range

/// 0: not known.
double time_on(const SchedulerSetup& setup, JobId job, std::size_t kind, int profile) {
  const auto time =
      setup.facts != nullptr ? setup.facts->time_on(job, kind, profile) : std::optional<Duration>();
  return time ? in_seconds(*time) : 0;
}

/// 0: not known.
double speed_on(const SchedulerSetup& setup, JobId job, std::size_t kind, int profile) {
  return setup.facts != nullptr ? setup.facts->speed_on(job, kind, profile).value_or(0) : 0;
}

/// The part of the largest profile's processors.
double share(const GpuModel& model, const Profile& profile) {
  const Profile& largest = model.largest();
  if (profile.sms && largest.sms)
    return static_cast<double>(profile.sms->value) / static_cast<double>(largest.sms->value);
  return static_cast<double>(profile.compute.value) / static_cast<double>(largest.compute.value);
}

/// By index of the profile, relative; 0: does not run there.
std::vector<double> speeds_of(const SchedulerSetup& setup, JobId job, std::size_t kind,
                              PlacementSet holds) {
  const Geometry& geometry = setup.fleet.graphs()[kind]->geometry();
  const GpuModel& model = geometry.model();
  std::vector<double> speeds(model.profiles.size());
  double shortest = 0;
  bool known = false;
  std::vector<double> times(speeds.size());
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    times[i] = time_on(setup, job, kind, static_cast<int>(i));
    if (times[i] > 0 && (shortest == 0 || times[i] < shortest)) shortest = times[i];
    known = known || (times[i] > 0 && geometry.of_profile(static_cast<int>(i)).meets(holds));
  }
  if (!known) {
    // In place of times: what one unit of work takes.
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      const double speed = speed_on(setup, job, kind, static_cast<int>(i));
      if (!(speed > 0)) continue;
      times[i] = 1 / speed;
      if (shortest == 0 || times[i] < shortest) shortest = times[i];
      known = known || geometry.of_profile(static_cast<int>(i)).meets(holds);
    }
  }
  const double reference = times.front() > 0 ? times.front() : shortest;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    if (!geometry.of_profile(static_cast<int>(i)).meets(holds)) continue;
    if (!known) {
      speeds[i] = share(model, model.profiles[i]);
    } else if (times[i] > 0) {
      speeds[i] = reference / times[i];
    }
  }
  return speeds;
}

}  // namespace

PredictedSpeeds predicted_speeds(const SchedulerSetup& setup, JobId job, RequestId request,
                                 double error) {
  constexpr std::uint64_t kinds_apart = 64;  // profiles of one model
  if (setup.facts != nullptr && setup.facts->predicts()) error = 0;
  PredictedSpeeds all;
  for (std::size_t kind = 0; kind < setup.fleet.graphs().size(); ++kind) {
    const auto speeds = speeds_of(setup, job, kind, setup.requests[request].holds[kind]);
    std::vector<Millionths>& predicted = all.emplace_back(speeds.size());
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      if (!(speeds[i] > 0)) continue;
      const double u =
          error > 0 ? 2 * uniform_of(setup.seed, index(job), kind * kinds_apart + i) - 1 : 0;
      const double speed = std::min(fastest, speeds[i]) * (1 + error * u);
      predicted[i] = std::max<Millionths>(1, std::llround(speed * static_cast<double>(full_speed)));
    }
  }
  return all;
}

}  // namespace cleave
