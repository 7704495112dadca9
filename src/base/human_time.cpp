#include "base/human_time.hpp"

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

Result<Duration> parse_human(std::string_view text) {
  constexpr std::pair<char, double> units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
  std::string_view number = text;
  double seconds = 1;
  for (const auto& [letter, length] : units)
    if (text.ends_with(letter)) {
      number.remove_suffix(1);
      seconds = length;
    }
  const auto count = parse_number(number);
  if (!count || !(*count >= 0) || *count * seconds > in_seconds(longest_duration))
    return fail(ErrorKind::bad_usage, "", fmt::format("'{}' is not a time", shown(text)),
                "write 30s, 15m, 2h or 1d, or a number of seconds");
  return std::chrono::round<Duration>(std::chrono::duration<double>(*count * seconds));
}

}  // namespace cleave
