#pragma once
// Where the expected time of a job is from, and the words for it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cleave {

/// Where a time is from.
enum class TimeSource : std::uint8_t {
  guess,               // from one profile, by the share of the processors
  model,               // by the trained model of completion times
  measured_elsewhere,  // of its application on other profiles, by the law of slices
  measured,            // of its application on this profile
  law,                 // by the law of slices from two or more declared ones
  declared,            // the user's own
  earlier_reports,     // from the pace that it reported on other profiles, rescaled to this one
  reports,             // from the pace that it reported on this profile
};

inline constexpr std::array<std::string_view, 8> time_source_names = {
    "guess", "model",    "measured-elsewhere", "measured",
    "law",   "declared", "earlier-reports",    "reports"};

[[nodiscard]] constexpr std::string_view name(TimeSource source) {
  return time_source_names[static_cast<std::size_t>(source)];
}

[[nodiscard]] constexpr std::optional<TimeSource> parse_time_source(std::string_view word) {
  for (std::size_t i = 0; i < time_source_names.size(); ++i)
    if (time_source_names[i] == word) return static_cast<TimeSource>(i);
  return std::nullopt;
}

}  // namespace cleave
