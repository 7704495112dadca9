#pragma once
// Times for people, in two units at most.

#include <string>

#include "base/time.hpp"

namespace cleave {

/// "0.8 s", "45 s", "12 min 05 s", "3 h 20 min", "12 d 4 h"
[[nodiscard]] std::string human(Duration duration);

}  // namespace cleave
