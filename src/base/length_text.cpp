#include "base/length_text.hpp"

#include <chrono>

#include "base/format.hpp"

namespace cleave {

std::string length_text(Duration time) {
  using namespace std::chrono;
  const auto whole = [&](Duration unit) {
    return time > Duration::zero() && time % unit == Duration::zero();
  };
  if (whole(days(1))) return fmt::format("{} d", time / days(1));
  if (whole(hours(1))) return fmt::format("{} h", time / hours(1));
  if (whole(minutes(1))) return fmt::format("{} min", time / minutes(1));
  return fmt::format("{} s", in_seconds(time));
}

}  // namespace cleave
