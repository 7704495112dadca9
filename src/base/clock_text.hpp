#pragma once
// Times of day as people and programs write them, ISO 8601: 2024-01-31T12:00:00, with a space for
// the T, with decimals of the second, and with a zone (Z, +02:00, +0200, +02) or without.

#include <optional>
#include <string_view>

namespace cleave {

/// Seconds since 1970. Without a zone the clock counts as UTC: summer time is ignored, so that an
/// hour may be missing or come twice.
struct ClockTime {
  double seconds = 0;
  bool zoned = false;
};
/// Nothing where the text is something else. Years have four digits.
[[nodiscard]] std::optional<ClockTime> parse_clock(std::string_view text);

}  // namespace cleave
