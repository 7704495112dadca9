#pragma once
// Now, on two clocks. Everything is timed by the one that nobody sets; the other is for people and
// records.

#include "base/time.hpp"

namespace cleave {

struct Moment {
  Duration steady{};  // never goes back; since some moment before this program began
  Instant wall{};
};

}  // namespace cleave
