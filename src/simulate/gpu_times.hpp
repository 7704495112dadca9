#pragma once
// "GPU@FROM-UNTIL", as options write a time of one GPU, and no two that overlap.

#include <algorithm>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/fleet_file.hpp"
#include "model/ids.hpp"

namespace cleave {

/// A while on one GPU.
struct GpuTime {
  GpuId gpu{};
  Instant from, until;
};

/// Reads it: the GPU by its name in the fleet, the times in seconds, the first before the second.
/// `place` and `what` are for errors: the option, and "an outage".
[[nodiscard]] Result<GpuTime> parse_gpu_time(std::string_view text, const FleetFile& fleet,
                                             const std::string& place, std::string_view what);

/// The same as a text.
[[nodiscard]] std::string text_of(const GpuTime& time, const FleetFile& fleet);

/// A GPU on which two of them overlap; with `touching`, also where one ends as the next begins.
/// Null: there is none.
[[nodiscard]] const GpuEntry* overlapping(std::vector<GpuTime> times, const FleetFile& fleet,
                                          bool touching);

}  // namespace cleave
