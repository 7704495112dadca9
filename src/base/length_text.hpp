#pragma once
// How long something takes, exactly and in one unit, as settings are said back to people.

#include <string>

#include "base/time.hpp"

namespace cleave {

/// "2 d", "3 h", "90 min", "0.26 s": the largest unit of which it is a whole number, else seconds.
/// parse_human() reads it.
[[nodiscard]] std::string length_text(Duration time);

}  // namespace cleave
