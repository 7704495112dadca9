#pragma once
// How the supervisor becomes the user of the job that it starts, irrevocably.

#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// Sets user, group and supplementary groups of this process, irrevocably and without new
/// privileges for any program it executes, and checks the result. A process that is not root can
/// only become its own user, and keeps its supplementary groups.
[[nodiscard]] Result<void> become_user(std::uint32_t uid, std::uint32_t gid,
                                       const std::vector<std::uint32_t>& groups);

}  // namespace cleave
