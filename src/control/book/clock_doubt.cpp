#include "control/book/clock_doubt.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr Duration usual_pause = std::chrono::hours(1), believed_after = std::chrono::hours(24);

bool holds(const ClockDoubt& doubt, Instant wall) {
  return wall >= doubt.shown && wall < doubt.shown + believed_after;
}

}  // namespace

std::optional<ClockDoubt> doubt_at_start(std::optional<Instant> latest, Instant wall,
                                         const std::optional<ClockDoubt>& before) {
  if (before && holds(*before, wall)) return before;
  if (latest && wall > *latest + usual_pause) return ClockDoubt{*latest, wall};
  return std::nullopt;
}

Instant time_for_ages(const std::optional<ClockDoubt>& doubt, Instant wall) {
  return doubt && holds(*doubt, wall) ? doubt->believed + (wall - doubt->shown) : wall;
}

std::string clock_doubt_text(const std::optional<ClockDoubt>& doubt) {
  if (!doubt) return {};
  return fmt::format("{} {}", doubt->believed.time_since_epoch().count(),
                     doubt->shown.time_since_epoch().count());
}

std::optional<ClockDoubt> parse_clock_doubt(const std::string& text) {
  const auto parts = split(text, ' ');
  if (parts.size() != 2) return std::nullopt;
  const auto believed = parse_integer(parts[0]), shown = parse_integer(parts[1]);
  if (!believed || !shown) return std::nullopt;
  return ClockDoubt{Instant(Duration(*believed)), Instant(Duration(*shown))};
}

}  // namespace cleave
