#pragma once
// Options that say how long something may take, in any form of base/human_time.hpp.

#include <string>
#include <string_view>

#include "base/time.hpp"
#include "manual/command_line.hpp"

namespace cleave::cli {

/// What help calls such a value.
inline constexpr const char* time_type = "TIME";

/// A time from `least` to `most`, both included.
[[nodiscard]] Check time_between(Duration least, Duration most = longest_duration);
/// What was checked so.
[[nodiscard]] Duration time_given(const std::string& text);

/// "1g.5gb=10m,7g.40gb=92" with its times as seconds; what is not a time stays.
[[nodiscard]] std::string times_in_seconds(std::string_view table);

}  // namespace cleave::cli
