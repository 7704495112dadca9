#pragma once
// docs/arena.md, which `cleave arena CELLS --page docs/arena.md` writes.

#include <string>

#include "study/arena/arena_runs.hpp"

namespace cleave {

/// Both of the same cells and contestants.
[[nodiscard]] std::string arena_page(const ArenaResults& plain, const ArenaResults& physical,
                                     std::size_t challenger);

}  // namespace cleave
