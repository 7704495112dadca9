#pragma once
// One clock for simulated and real time: nanoseconds in 64 bits, about 292 years either way. A
// simulation starts at Instant{}; the daemon passes the system clock. Files and reports use seconds
// (`_s`).

#include <chrono>

#include "base/result.hpp"

namespace cleave {

using Duration = std::chrono::nanoseconds;
using Instant = std::chrono::sys_time<Duration>;

/// The longest time that a file may state: a hundred years. One of these, or the sum of two, cannot
/// overflow.
inline constexpr Duration longest_duration = std::chrono::hours{100 * 365 * 24};

/// `seconds` rounded to the nanosecond; fails when it is not a number or beyond longest_duration.
[[nodiscard]] Result<Duration> duration_from_seconds(double seconds);

inline double in_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace cleave
