#pragma once
// Times for people, in two units at most.

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace cleave {

/// "0.8 s", "45 s", "12 min 05 s", "3 h 20 min", "12 d 4 h"
[[nodiscard]] std::string human(Duration duration);
/// "90", "90s", "15m", "2h", "1.5d"; not negative, and within what times may be.
[[nodiscard]] Result<Duration> parse_human(std::string_view text);

}  // namespace cleave
