#include "simulate/traces/trace_rows.hpp"

#include <chrono>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

std::int64_t Cells::whole(std::string_view cell, std::string_view name, std::int64_t least,
                          std::int64_t most) {
  const auto value = parse_integer(trimmed(cell));
  if (value && *value >= least && *value <= most) return *value;
  refuse(fmt::format("{} is '{}', expected a whole number from {} to {}", name, shown(cell), least,
                     most));
  return least;
}

double Cells::seconds(std::string_view cell, std::string_view name, std::string_view what) {
  const auto value = parse_number(trimmed(cell));
  if (value && *value >= 0 && *value <= in_seconds(longest_duration)) return *value;
  refuse(fmt::format("{} is '{}', expected {}", name, shown(cell), what));
  return 0;
}

std::optional<double> Cells::seconds_if(std::string_view cell, std::string_view name) {
  if (trimmed(cell).empty()) return std::nullopt;
  return seconds(cell, name);
}

double Cells::clock(std::string_view cell, std::string_view name) {
  if (const auto value = clock_seconds(trimmed(cell))) return *value;
  refuse(fmt::format("{} is '{}', expected a time like 2024-01-31 12:00:00", name, shown(cell)));
  return 0;
}

void Cells::refuse(std::string message, std::string remedy) {
  if (!error) error = Error{ErrorKind::bad_input, place_, std::move(message), std::move(remedy)};
}

std::optional<double> clock_seconds(std::string_view text) {
  constexpr std::string_view shape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() != shape.size()) return std::nullopt;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    const bool fits = shape[i] == 'd'   ? digit
                      : shape[i] == 'T' ? text[i] == 'T' || text[i] == ' '
                                        : text[i] == shape[i];
    if (!fits) return std::nullopt;
  }
  const auto number = [&](std::size_t at, std::size_t length) {
    return static_cast<int>(*parse_integer(text.substr(at, length)));
  };
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return 86400.0 * static_cast<double>(days) + 3600.0 * hour + 60.0 * minute + second;
}

Result<void> find_columns(const CsvReader& csv,
                          std::initializer_list<std::pair<std::string_view, std::size_t*>> wanted,
                          const std::string& remedy) {
  for (const auto& [name, where] : wanted) {
    const auto found = csv.column(name);
    if (!found) {
      Error error = found.error();
      error.remedy = remedy;
      return std::unexpected(std::move(error));
    }
    *where = *found;
  }
  return {};
}

Lines::Lines(std::string_view text, std::string place)
    : rest_(without_byte_order_mark(text)), place_(std::move(place)) {}

Result<bool> Lines::next(std::string_view& line) {
  while (!rest_.empty()) {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (!valid_utf8(line))
      return fail(ErrorKind::bad_input, place(), "the line is not UTF-8 text",
                  "convert the file to UTF-8");
    return true;
  }
  return false;
}

std::string Lines::place() const {
  return fmt::format("{}:{}", place_, line_);
}

void count(std::vector<ReasonCount>& counts, const std::string& reason) {
  const auto found = std::ranges::find(counts, reason, &ReasonCount::reason);
  if (found == counts.end()) {
    counts.push_back({reason, 1});
  } else {
    ++found->count;
  }
}

Result<Instant> arrival_at(double seconds, const TraceOptions& options, const std::string& place) {
  const auto after = duration_from_seconds(seconds / options.compress.value());
  if (!after) return fail_at(place, after.error());
  return Instant{} + *after;
}

SpeedModel as_recorded() {
  SpeedModel speed;
  speed.flat = true;
  return speed;
}

void note_options(Workload& workload, std::string_view format, const TraceOptions& options,
                  std::initializer_list<std::pair<std::string, std::string>> own) {
  workload.options = {{"format", std::string(format)}, {"compress", options.compress.decimal()}};
  for (const auto& [key, value] : own) workload.options[key] = value;
  if (options.limit) workload.options["limit"] = fmt::format("{}", *options.limit);
}

}  // namespace cleave
