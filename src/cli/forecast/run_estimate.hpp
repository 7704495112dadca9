#pragma once
// Runs that nobody measured, for `cleave recommend`: on profiles between those on which an
// application was measured, and on profiles that are too small for it, with part of its data in
// host memory. Speeds are by the law of slices (physics/profile_times.hpp), so two profiles of
// different size must have been measured. As many processors are busy for a unit of work as on the
// smallest measured one.

#include <vector>

#include "forecast/choice/profile_exports.hpp"
#include "physics/profile_times.hpp"

namespace cleave::cli {

/// A run as it would be.
struct RunEstimate {
  MeasuredInstance instance;
  TimeBasis basis = TimeBasis::beyond;
  double worst = 0;  // of the law at the measured profiles (FittedJob::worst)
  MiB in_host;
  double slowdown = 1;  // by the link: its time over that of the same profile with enough memory
};

/// On every plain profile that was not measured and has at least the memory of the smallest
/// measured one. Fails where too little was measured, or the law does not describe it.
[[nodiscard]] Result<std::vector<RunEstimate>> estimate_others(const MeasuredQuestion& measured);

/// On every plain profile that was not measured, is too small, and is large enough with up to
/// `most` on the host; all of that crosses the link `touches` times for each unit of performance (a
/// token, an item, a run). Empty where there is no such profile left to estimate. Fails where too
/// little was measured, where the law does not describe it, and where the data fit on none of these
/// profiles even so.
[[nodiscard]] Result<std::vector<RunEstimate>> estimate_offload(const MeasuredQuestion& measured,
                                                                MiB most, double touches);

}  // namespace cleave::cli
