#pragma once
// The scheduler where none is named, for settings and options, which need not know what one is.

#include <string_view>

namespace cleave {

/// In the table of schedulers (engine/scheduler.hpp).
inline constexpr std::string_view default_scheduler = "adaptive";

}  // namespace cleave
