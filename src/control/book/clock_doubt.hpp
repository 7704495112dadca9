#pragma once
// Whether the system clock can be believed when a daemon begins. Nobody can tell a clock that is
// days ahead from a machine that was off for days. So for a day after such a start, the age of what
// has ended is counted from the latest time that the store knows: what would be forgotten by a
// wrong clock is kept until somebody could have set it right, and what was old before is forgotten
// as ever. A daemon that begins again within that day goes on in the same way.

#include <optional>
#include <string>

#include "base/time.hpp"

namespace cleave {

/// The same moment by the time that is believed and as the clock showed it.
struct ClockDoubt {
  Instant believed{}, shown{};
  friend bool operator==(const ClockDoubt&, const ClockDoubt&) = default;
};

/// Of a daemon that begins now. `latest`: the newest time in the store, if there is one; `before`:
/// what an earlier daemon doubted.
[[nodiscard]] std::optional<ClockDoubt> doubt_at_start(std::optional<Instant> latest, Instant wall,
                                                       const std::optional<ClockDoubt>& before);
/// The time by which ages are counted.
[[nodiscard]] Instant time_for_ages(const std::optional<ClockDoubt>& doubt, Instant wall);

/// The key of the setting in which the store keeps it.
inline constexpr const char* clock_doubt_key = "clock-doubt";
/// Its value, and read again; empty text: there is none.
[[nodiscard]] std::string clock_doubt_text(const std::optional<ClockDoubt>& doubt);
[[nodiscard]] std::optional<ClockDoubt> parse_clock_doubt(const std::string& text);

}  // namespace cleave
