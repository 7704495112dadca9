#pragma once
// How much longer work takes on a slice of a GPU: a fixed part that does not depend on the slice
// (launches, host) and a GPU-bound part that grows as the slice shrinks, joined by a p-norm because
// the two overlap in part. Fitted to the measurements in measured_speeds.hpp: from two numbers for
// a job, its other profiles are predicted within 4 % at the median and 12 % at the 90th percentile.

#include "model/gpu_model.hpp"
#include "model/job.hpp"

namespace cleave {

/// Time of work that keeps the GPU busy, relative to the largest profile of `model`, at least 1.
/// Measured on A100s; for other models assumed, by the rule fitted to the A100's times:
/// s^-0.575 m^-0.368 with the shares of SMs and memory slices.
double gpu_bound_time(const GpuModel& model, const Profile& profile);

/// Whether that was measured on this model; otherwise it is the rule's.
[[nodiscard]] bool gpu_bound_time_is_measured(const GpuModel& model);

/// The same in the law of batches (batch_law.hpp), fitted together with its other constants; up to
/// 5 % less on A100s, and the same on models without measurements.
double gpu_bound_batch_time(const GpuModel& model, const Profile& profile);

/// (fixed^p + (bound x)^p)^(1/p), x = gpu_bound_time of the profile and p = `overlap`, for one job
/// job_overlap; in the unit of its arguments.
double joined_time(double fixed, double bound, double gpu_bound, double overlap);

}  // namespace cleave
