#pragma once
// Times for people, in two units at most.

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace cleave {

/// "0.8 s", "45 s", "12 min 05 s", "3 h 20 min", "12 d 4 h"
[[nodiscard]] std::string human(Duration duration);
/// How people write times, in options, files of jobs and the configuration: a number of seconds
/// ("90"); numbers with units, the largest first ("90s", "15m", "1h30m", "1.5d", "2 min", and what
/// human() writes); and "HH:MM:SS" or "D-HH:MM:SS", "D-HH:MM", "D-HH" as Slurm has them. Not
/// negative, and within what times may be. "15:00" is refused: it might be minutes or hours.
[[nodiscard]] Result<Duration> parse_human(std::string_view text);

}  // namespace cleave
