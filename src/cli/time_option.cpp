#include "cli/time_option.hpp"

#include <vector>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/text.hpp"

namespace cleave::cli {

Check time_between(Duration least, Duration most) {
  return Check([least, most](const std::string& text) {
    const auto time = parse_human(text);
    if (!time) return fmt::format("{}; {}", time.error().message, time.error().remedy);
    if (*time >= least && *time <= most) return std::string();
    return most == longest_duration
               ? fmt::format("expected a time of at least {}, found {}", human(least), shown(text))
               : fmt::format("expected a time from {} to {}, found {}", human(least), human(most),
                             shown(text));
  });
}

Duration time_given(const std::string& text) {
  return parse_human(text).value_or(Duration{});
}

std::string times_in_seconds(std::string_view table) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(table, ',')) {
    const std::size_t equals = part.rfind('=');
    const auto time = equals == part.npos ? Result<Duration>(std::unexpected(Error{}))
                                          : parse_human(trimmed(part.substr(equals + 1)));
    parts.push_back(time ? fmt::format("{}={}", part.substr(0, equals), in_seconds(*time))
                         : std::string(part));
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace cleave::cli
