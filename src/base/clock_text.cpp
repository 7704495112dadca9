#include "base/clock_text.hpp"

#include <chrono>

#include "base/text.hpp"

namespace cleave {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Whether the text has the shape: `d` is a digit, `T` a T or a space, all else itself.
bool has_shape(std::string_view text, std::string_view shape) {
  if (text.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool fits = shape[i] == 'd'   ? is_digit(text[i])
                      : shape[i] == 'T' ? text[i] == 'T' || text[i] == ' '
                                        : text[i] == shape[i];
    if (!fits) return false;
  }
  return true;
}

int number(std::string_view digits) {
  return static_cast<int>(*parse_integer(digits));
}

/// Takes ".123" from the front; 0 where there is none.
std::optional<double> take_fraction(std::string_view& text) {
  if (!text.starts_with('.') && !text.starts_with(',')) return 0;
  std::size_t end = 1;
  double fraction = 0, unit = 0.1;
  for (; end < text.size() && is_digit(text[end]); ++end, unit /= 10)
    fraction += (text[end] - '0') * unit;
  if (end == 1) return std::nullopt;
  text.remove_prefix(end);
  return fraction;
}

/// Seconds that a clock of this zone is ahead of UTC.
std::optional<double> zone_seconds(std::string_view text) {
  if (text == "Z") return 0;
  if (!text.starts_with('+') && !text.starts_with('-')) return std::nullopt;
  const double sign = text.front() == '+' ? 1 : -1;
  text.remove_prefix(1);
  int minutes = 0;
  if (has_shape(text, "dd:dd")) {
    minutes = number(text.substr(3));
  } else if (has_shape(text, "dddd")) {
    minutes = number(text.substr(2));
  } else if (!has_shape(text, "dd")) {
    return std::nullopt;
  }
  const int hours = number(text.substr(0, 2));
  if (hours > 14 || minutes > 59) return std::nullopt;
  return sign * (3600.0 * hours + 60.0 * minutes);
}

}  // namespace

std::optional<ClockTime> parse_clock(std::string_view text) {
  constexpr std::string_view shape = "dddd-dd-ddTdd:dd:dd";
  if (!has_shape(text.substr(0, shape.size()), shape)) return std::nullopt;
  const std::chrono::year_month_day date{
      std::chrono::year(number(text.substr(0, 4))),
      std::chrono::month(static_cast<unsigned>(number(text.substr(5, 2)))),
      std::chrono::day(static_cast<unsigned>(number(text.substr(8, 2))))};
  const int hour = number(text.substr(11, 2)), minute = number(text.substr(14, 2)),
            second = number(text.substr(17, 2));
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  ClockTime time{86400.0 * static_cast<double>(days) + 3600.0 * hour + 60.0 * minute + second,
                 false};
  text.remove_prefix(shape.size());
  const auto fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  time.seconds += *fraction;
  if (text.empty()) return time;
  const auto ahead = zone_seconds(text);
  if (!ahead) return std::nullopt;
  return ClockTime{time.seconds - *ahead, true};
}

}  // namespace cleave
