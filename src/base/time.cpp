#include "base/time.hpp"

#include <cmath>

namespace cleave {

Result<Duration> duration_from_seconds(double seconds) {
  if (!std::isfinite(seconds))
    return fail(ErrorKind::bad_input, "", "a time must be a number of seconds");
  if (std::abs(seconds) > in_seconds(longest_duration))
    return fail(ErrorKind::bad_input, "", "a time must be at most a hundred years",
                "give seconds, not milliseconds or a date");
  return Duration{std::llround(seconds * 1e9)};
}

}  // namespace cleave
