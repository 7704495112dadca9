#pragma once
// Runs with part of the data in host memory that nobody measured, for `cleave recommend`: on each
// profile that is too small for an application, beside the next size on which it was measured.

#include <vector>

#include "forecast/choice/profile_exports.hpp"

namespace cleave::cli {

/// A run as it would be.
struct OffloadEstimate {
  MeasuredInstance instance;
  MiB in_host;
  double slowdown = 1;  // by the link: its time over that of the same profile with enough memory
};

/// On every plain profile that was not measured, is too small, and is large enough with up to
/// `most` on the host; all of that crosses the link `touches` times for each unit of performance (a
/// token, an item, a run). Speed without that is by the law of slices from the measured profiles
/// (physics/speed_law.hpp), so two of different size must have been measured; otherwise empty. As
/// many processors are busy for a unit of work as on the next size.
[[nodiscard]] std::vector<OffloadEstimate> estimate_offload(const MeasuredQuestion& measured,
                                                            MiB most, double touches);

}  // namespace cleave::cli
