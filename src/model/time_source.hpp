#pragma once
// Where the expected time of a job is from, and the words for it.

#include <array>
#include <cstdint>
#include <string_view>

namespace cleave {

/// Where a time is from.
enum class TimeSource : std::uint8_t {
  guess,            // from one profile, by the share of the processors
  declared,         // the user's own
  law,              // by the law of slices from two or more declared ones
  earlier_reports,  // from the pace that it reported on other profiles, rescaled to this one
  reports,          // from the pace that it reported on this profile
};

inline constexpr std::array<std::string_view, 5> time_source_names = {"guess", "declared", "law",
                                                                      "earlier-reports", "reports"};

[[nodiscard]] constexpr std::string_view name(TimeSource source) {
  return time_source_names[static_cast<std::size_t>(source)];
}

}  // namespace cleave
