#pragma once
// Every kind of progress that a job of a workload can say, for tests that draw from them.

#include <array>
#include <string_view>

namespace cleave {

/// To be appended to the other keys of a job.
inline constexpr std::array<std::string_view, 6> every_progress = {
    "",
    R"(, "progress": "stateless")",
    R"(, "progress": "checkpoint")",
    R"(, "progress": "checkpoint", "checkpoint_every_s": 20)",
    R"(, "progress": "none")",
    R"(, "progress": "none", "movable": true)"};

}  // namespace cleave
