#pragma once
// A job's speed on every profile, from two numbers: the part of its time that no slice shortens
// (the floor: launches, host) and its GPU-bound part on the whole GPU, joined by a p-norm
// (slice_law.hpp). Two measured profiles give the two numbers, and so the other profiles.
//
// From the smallest profile that fits and the whole GPU, the others come out within 4 % at the
// median and 12 % at the 90th percentile, on measurements that the law was not fitted to; beyond
// the measured profiles the errors are about twice as large. `cleave reproduce physics` counts
// them.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/job.hpp"
#include "physics/slice_law.hpp"

namespace cleave {

/// A time, or 1 / speed, on a profile where GPU-bound work takes `gpu_bound` times as long as on
/// the whole GPU.
struct KnownTime {
  double gpu_bound, time;
};

/// Where a job's measurements stand between the two bounds that the law has.
enum class FloorFit : std::uint8_t {
  inside,
  no_floor,  // they differ by as much as GPU-bound work does, or more
  no_bound,  // they do not depend on the profile, or smaller ones are faster
};

/// The two numbers of a job, in the unit of its times.
struct FittedJob {
  SliceLaw law;
  FloorFit fit = FloorFit::inside;
  double worst = 0;  // the largest |law / known - 1|; 0 for two times between the bounds
};

/// Two times with different `gpu_bound` are met exactly where the law can; more by least squares of
/// the logarithms, as are two that contradict it. Empty with fewer, and for times that are not
/// numbers above zero.
[[nodiscard]] std::optional<FittedJob> fit_slice_law(std::span<const KnownTime> known,
                                                     double overlap = job_overlap);

/// The two numbers of a job from the profiles of `model` that its table lists, with 1 / speed as
/// time. Empty if their GPU-bound times do not differ.
[[nodiscard]] std::optional<FittedJob> fitted_job(const SpeedTable& table, const GpuModel& model);

/// The speed of a job on `profile`, from a table that lists at least two profiles of `model` whose
/// GPU-bound times differ: as listed, or else by the law. Empty if fewer are listed, or if the
/// profile is one of those that such a table leaves out (model/speed_table.hpp).
[[nodiscard]] std::optional<double> completed_speed(const SpeedTable& table, const GpuModel& model,
                                                    const Profile& profile);

/// The times of GPU-bound work on slices of each size, relative to the whole GPU, from the times of
/// jobs on several sizes: for calibrating a GPU model. Each job has a time for every size, 0 where
/// it was not measured, the whole GPU last. `first` is the result's first entry: jobs alone
/// determine h^p only up to its scale above 1, because a larger h with larger floors gives the same
/// times; what is computed from the result does not depend on it once no job's floor is cut at
/// zero. `weights` of the jobs are all 1 if empty.
[[nodiscard]] std::vector<double> fit_slice_times(std::span<const std::vector<double>> jobs,
                                                  std::span<const double> weights, double first,
                                                  double overlap = job_overlap);

/// In `fit_slice_times`, times count less as their error passes this, the noise of the data.
inline constexpr double job_error_scale = 0.05;

}  // namespace cleave
