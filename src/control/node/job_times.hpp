#pragma once
// How long a job takes on each profile, as far as is known. The first of these that answers:
//
// 1. how fast it was seen to go: there, or rescaled from another profile by what follows;
// 2. what its user stated: there, or by the law of slices (physics/profile_times.hpp);
// 3. what its user's earlier jobs of the application taught: there, by the law, or from one profile
//    by the ratio that the operator's repository or the trained model has;
// 4. what the operator's repository has of the application: there, or by the law;
// 5. the trained model;
// 6. a guess from one profile, by the share of the processors.

#include <memory>
#include <optional>
#include <string_view>

#include "base/time.hpp"
#include "control/node/measured_applications.hpp"
#include "model/gpu_model.hpp"
#include "model/job.hpp"
#include "model/job_spec.hpp"
#include "model/time_source.hpp"

namespace cleave {

/// A time and where it is from.
struct ExpectedTime {
  Duration time;
  TimeSource source;
  friend bool operator==(const ExpectedTime&, const ExpectedTime&) = default;
};

/// What is known of a job's times; tables have 1 / seconds of all its work.
struct KnownJobTimes {
  std::optional<Duration> expected;  // on the largest profile
  SpeedTable declared;
  SpeedTable reported;                                 // by MODEL:PROFILE
  std::shared_ptr<const MeasuredTimes> measured = {};  // null: nothing is known of its application
  friend bool operator==(const KnownJobTimes&, const KnownJobTimes&) = default;
};

/// What the user said.
[[nodiscard]] KnownJobTimes declared_times(const JobSpec& spec);

/// MODEL:PROFILE, and MODEL:none for the whole GPU without MIG, where the profile is null.
[[nodiscard]] std::string column_of(const GpuModel& model, const Profile* profile);

/// The time of all work on the profile, or on the whole GPU without MIG where that is null. Empty
/// where nothing is known, and where the job may not fit.
[[nodiscard]] std::optional<ExpectedTime> time_on(const KnownJobTimes& times, const GpuModel& model,
                                                  const Profile* profile);

}  // namespace cleave
