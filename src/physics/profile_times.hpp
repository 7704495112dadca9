#pragma once
// A job's time on every profile of a GPU model from those on which it is known: as known there, and
// by the law of slices (speed_law.hpp) elsewhere, with the error that the law had on measurements
// that it was not fitted to. One known profile does not determine the others.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "physics/speed_law.hpp"

namespace cleave {

/// How the time on a profile is known.
enum class TimeBasis : std::uint8_t {
  known,    // stated or measured there
  between,  // by the law, between two sizes on which it is known
  beyond,   // by the law, outside of these
};

/// |predicted / measured - 1| of the law.
struct LawError {
  double median, p90;
};

/// On an A100, on measurements of jobs that the law was not fitted to: the larger of the figures
/// for training and for inference (docs/physics.md). Empty for known times, and where nothing of
/// this model was measured, or where the law misses the job's known times by `worst`
/// (FittedJob::worst) and does not describe it.
[[nodiscard]] std::optional<LawError> law_error(const GpuModel& model, TimeBasis basis,
                                                double worst);
/// "median error 3.8 %, 90 % within 11.7 %", or why there is no error to state.
[[nodiscard]] std::string law_error_text(const GpuModel& model, TimeBasis basis, double worst);
/// Whether the law describes a job whose known times it misses by up to `worst`.
[[nodiscard]] bool follows_law(double worst);
/// "up to 27.3 %", and "more than 1000 %" beyond that.
[[nodiscard]] std::string misfit_text(double worst);

/// The time on one profile.
struct ProfileTime {
  const Profile* profile;
  double time;
  TimeBasis basis;
};

/// The times of a job, from large profiles to small ones, and what stands behind them.
struct CompletedTimes {
  FittedJob job;
  std::vector<ProfileTime> profiles;  // without those that may be too small for it

  /// Null where the job may not fit there.
  [[nodiscard]] const ProfileTime* find(std::string_view profile) const;
};

/// `table` has 1 / time of the known profiles. Profiles with media engines or graphics count only
/// where they are known. Fails (infeasible) where fewer than two profiles of `model` with different
/// GPU-bound times are known.
[[nodiscard]] Result<CompletedTimes> complete_times(const SpeedTable& table, const GpuModel& model);

/// Why one profile does not give the others, and what would.
inline constexpr std::string_view one_profile_is_not_enough =
    "from one profile, times on the others are a guess that is off by 30 to 40 %";
inline constexpr std::string_view two_profiles_are =
    "add a second one of another size, best the smallest on which the job fits and the whole GPU";

}  // namespace cleave
