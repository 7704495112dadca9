#pragma once
// How the supervisor becomes the user whose job it starts, for good.

#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// User, group and supplementary groups of this process from here on, with no way back and without
/// new privileges by any program it becomes. What the system then says is checked. Who is not root
/// can only become itself; its supplementary groups stay as they are.
[[nodiscard]] Result<void> become_user(std::uint32_t uid, std::uint32_t gid,
                                       const std::vector<std::uint32_t>& groups);

}  // namespace cleave
