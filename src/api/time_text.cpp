#include "api/time_text.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

std::string utc_text(Instant instant) {
  using namespace std::chrono;
  // Rounded first: the day in which the earliest instant lies begins before what nanoseconds can
  // say.
  const auto moment = floor<milliseconds>(instant);
  const auto day = floor<days>(moment);
  const year_month_day date{day};
  const hh_mm_ss time{moment - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     time.subseconds().count());
}

namespace {

/// `count` digits at `at`; -1 where there is anything else.
int digits(std::string_view text, std::size_t at, std::size_t count) {
  int number = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    number = number * 10 + (text[i] - '0');
  }
  return number;
}

/// ".123Z" or "Z".
std::optional<Duration> parse_fraction(std::string_view text) {
  if (text == "Z") return Duration{};
  if (text.size() < 3 || text.front() != '.' || text.back() != 'Z') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::int64_t nanoseconds = 0, unit = 100'000'000;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    nanoseconds += (c - '0') * unit;
    unit /= 10;
  }
  return Duration{nanoseconds};
}

}  // namespace

std::optional<Instant> parse_utc_text(std::string_view text) {
  using namespace std::chrono;
  constexpr std::string_view form = "0000-00-00T00:00:00";
  if (text.size() <= form.size()) return std::nullopt;
  for (std::size_t i = 0; i < form.size(); ++i)
    if (form[i] != '0' && text[i] != form[i]) return std::nullopt;
  const int month_number = digits(text, 5, 2), day_number = digits(text, 8, 2);
  const int hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  const year_month_day date{year{digits(text, 0, 4)}, month{static_cast<unsigned>(month_number)},
                            day{static_cast<unsigned>(day_number)}};
  // From 1970 on, and within what 64 bits of nanoseconds hold.
  if (month_number < 0 || day_number < 0 || !date.ok() || date.year() < year{1970} ||
      date.year() > year{2261})
    return std::nullopt;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
    return std::nullopt;
  const auto fraction = parse_fraction(text.substr(form.size()));
  if (!fraction) return std::nullopt;
  return Instant{sys_days{date}} + hours{hour} + minutes{minute} + seconds{second} + *fraction;
}

}  // namespace cleave
