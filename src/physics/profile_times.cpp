#include "physics/profile_times.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "model/speed_table.hpp"

namespace cleave {

namespace {

// From the smallest profile that fits and 7g: 3.8 / 7.3 % (MISO) and 3.3 / 11.7 % (ParvaGPU).
// Without the smallest or the largest: 5 to 7 / 12 to 28 %.
constexpr LawError error_between = {0.038, 0.117}, error_beyond = {0.07, 0.28};

// A misfit at the known times of which the law is still said to hold. On jobs of its kind 90 % of
// the predictions are within 11.7 %; at known times, which it is fitted to, twice that is no
// scatter.
constexpr double most_misfit = 0.25;

/// Of the profiles that are known, the shortest and the longest time of GPU-bound work.
struct KnownRange {
  double least = 0, most = 0;
};

/// Whether the known profiles differ in compute. Memory alone changes times too little to tell the
/// floor from the rest, and such a table is not completed (model/speed_table.hpp).
bool of_different_sizes(const SpeedTable& table, const GpuModel& model) {
  const Profile* first = nullptr;
  for (const Profile& each : model.profiles) {
    if (!listed_speed(table, model, each.name)) continue;
    if (first == nullptr) first = &each;
    if (each.compute != first->compute) return true;
  }
  return false;
}

KnownRange range_of(const SpeedTable& table, const GpuModel& model) {
  KnownRange range;
  for (const Profile& each : model.profiles) {
    if (!listed_speed(table, model, each.name)) continue;
    const double h = gpu_bound_time(model, each);
    range.least = range.least == 0 ? h : std::min(range.least, h);
    range.most = std::max(range.most, h);
  }
  return range;
}

}  // namespace

std::optional<LawError> law_error(const GpuModel& model, TimeBasis basis, double worst) {
  if (basis == TimeBasis::known || !gpu_bound_time_is_measured(model) || !follows_law(worst))
    return std::nullopt;
  return basis == TimeBasis::between ? error_between : error_beyond;
}

bool follows_law(double worst) {
  return worst <= most_misfit;
}

std::string misfit_text(double worst) {
  return worst <= 10 ? fmt::format("up to {:.1f} %", 100 * worst) : "more than 1000 %";
}

std::string law_error_text(const GpuModel& model, TimeBasis basis, double worst) {
  if (!follows_law(worst))
    return fmt::format("does not follow the law: misses the known times by {}", misfit_text(worst));
  const auto error = law_error(model, basis, worst);
  if (!error) return fmt::format("not tested on the {}", model.key);
  return fmt::format("median error {:.1f} %, 90 % within {:.1f} %", 100 * error->median,
                     100 * error->p90);
}

const ProfileTime* CompletedTimes::find(std::string_view profile) const {
  const auto found = std::ranges::find(profiles, profile,
                                       [](const ProfileTime& each) { return each.profile->name; });
  return found == profiles.end() ? nullptr : &*found;
}

Result<CompletedTimes> complete_times(const SpeedTable& table, const GpuModel& model) {
  const auto job = fitted_job(table, model);
  if (!job || !of_different_sizes(table, model)) {
    const auto known = std::ranges::count_if(model.profiles, [&](const Profile& each) {
      return listed_speed(table, model, each.name).has_value();
    });
    return fail(ErrorKind::infeasible, std::string(model.key),
                known == 0   ? "the time on none of its profiles is known"
                : known == 1 ? std::string(one_profile_is_not_enough)
                             : "the profiles on which the time is known are of one size",
                std::string(two_profiles_are));
  }
  const KnownRange range = range_of(table, model);
  CompletedTimes times{*job, {}};
  for (const Profile& profile : model.profiles) {
    const bool known = listed_speed(table, model, profile.name).has_value();
    if (!known && profile.attribute != Attribute::none) continue;
    const auto speed = completed_speed(table, model, profile);
    if (!speed) continue;
    const double h = gpu_bound_time(model, profile);
    const bool inside = h >= range.least && h <= range.most;
    times.profiles.push_back({&profile, 1 / *speed,
                              known    ? TimeBasis::known
                              : inside ? TimeBasis::between
                                       : TimeBasis::beyond});
  }
  return times;
}

}  // namespace cleave
