#pragma once
// The results of an arena in words and numbers: a table for the terminal, JSON, and the raw values
// as CSV.

#include <string>

#include "base/json_fwd.hpp"
#include "study/arena/arena_score.hpp"

namespace cleave {

/// What the three numbers under "lost" are.
[[nodiscard]] std::string lost_legend();
/// Of the contestant that is looked at; the tables, and why contestants were left out.
[[nodiscard]] std::string arena_text(const ArenaResults& results, std::size_t challenger);
[[nodiscard]] Json arena_json(const ArenaResults& results, std::size_t challenger, bool timing);
/// How long all of it took on this machine, and what took longest.
[[nodiscard]] std::string arena_timing(const ArenaResults& results, double seconds);
/// A line for each run.
[[nodiscard]] std::string arena_csv(const ArenaResults& results);

}  // namespace cleave
