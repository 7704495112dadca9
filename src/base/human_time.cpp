#include "base/human_time.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

std::string human(Duration duration) {
  using namespace std::chrono;
  const double exact = in_seconds(duration);
  if (exact < 10) return fmt::format("{:.1f} s", exact);
  const auto whole = round<seconds>(duration).count();
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const auto in_minutes = round<minutes>(duration).count();
  if (in_minutes < 48 * 60) return fmt::format("{} h {:02} min", in_minutes / 60, in_minutes % 60);
  const auto in_hours = round<hours>(duration).count();
  return fmt::format("{} d {} h", in_hours / 24, in_hours % 24);
}

namespace {

using Seconds = std::optional<double>;

/// A number from the front of the text, which goes on behind it; nothing where there is none.
Seconds take_number(std::string_view& text) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  const Seconds number = parse_number(text.substr(0, end));
  text.remove_prefix(end == text.npos ? text.size() : end);
  return number;
}

/// "1h30m", "2 min", "12 d 4 h": numbers with their units, the largest unit first.
Seconds with_units(std::string_view text) {
  constexpr std::pair<std::string_view, double> units[] = {
      {"d", 86400}, {"h", 3600}, {"min", 60}, {"m", 60}, {"s", 1}};
  double sum = 0, before = std::numeric_limits<double>::infinity();
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const Seconds number = take_number(text);
    text = trimmed(text);
    const auto unit =
        std::ranges::find_if(units, [&](const auto& each) { return text.starts_with(each.first); });
    if (!number || unit == std::end(units) || unit->second >= before) return std::nullopt;
    sum += *number * unit->second;
    before = unit->second;
    text.remove_prefix(unit->first.size());
  }
  return std::isinf(before) ? std::nullopt : Seconds(sum);
}

/// "12", of a clock: digits alone, two at most unless they are the first of a time.
std::optional<std::int64_t> clock_part(std::string_view text, bool first, std::int64_t most) {
  if (text.find_first_not_of("0123456789") != text.npos || (!first && text.size() != 2))
    return std::nullopt;
  const auto number = parse_integer(text);
  return number && (first || *number <= most) ? number : std::nullopt;
}

/// "36:00:00", "1-12:00:00", "1-12:30" and "1-12", which are Slurm's.
Seconds as_clock(std::string_view text) {
  constexpr std::int64_t unit[] = {3600, 60, 1};
  const std::size_t dash = text.find('-');
  const bool days = dash != text.npos;
  double sum = 0;
  if (days) {
    const auto count = clock_part(text.substr(0, dash), true, 0);
    if (!count) return std::nullopt;
    sum = 86400.0 * static_cast<double>(*count);
    text.remove_prefix(dash + 1);
  }
  const auto parts = split(text, ':');
  // Of two numbers nobody could say whether the first are hours or minutes.
  if (parts.size() > 3 || (!days && parts.size() != 3)) return std::nullopt;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool first = i == 0 && (!days || parts[0].size() == 1);
    const auto number = clock_part(parts[i], first, i == 0 ? 23 : 59);
    if (!number || (days && i == 0 && *number > 23)) return std::nullopt;
    sum += static_cast<double>(*number * unit[i]);
  }
  return sum;
}

}  // namespace

Result<Duration> parse_human(std::string_view text) {
  Seconds seconds = parse_number(text);
  if (!seconds) seconds = with_units(text);
  if (!seconds) seconds = as_clock(text);
  if (!seconds || !(*seconds >= 0) || *seconds > in_seconds(longest_duration))
    return fail(ErrorKind::bad_usage, "", fmt::format("'{}' is not a time", shown(text)),
                "write 90 (seconds), 15m, 1h30m, 2d, 08:30:00 or 1-12:00:00");
  return std::chrono::round<Duration>(std::chrono::duration<double>(*seconds));
}

}  // namespace cleave
