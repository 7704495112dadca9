#pragma once
// Moments as the API writes them: UTC to the millisecond, 2026-05-04T10:11:12.123Z.

#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"

namespace cleave {

/// Rounded down to the millisecond.
[[nodiscard]] std::string utc_text(Instant instant);
/// Reads that form, with any number of decimals of the second or none; nothing else.
[[nodiscard]] std::optional<Instant> parse_utc_text(std::string_view text);

}  // namespace cleave
