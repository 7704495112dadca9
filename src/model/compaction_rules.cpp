#include "model/compaction_rules.hpp"

#include <array>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/length_text.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

using std::chrono::minutes;

constexpr int day = 24 * 60;

constexpr std::array rows = {
    OptionRow{"when_waiting", "TIME", "2 min",
              "Plan for a job once it has waited this long because there is no room for it"},
    OptionRow{"gain", "FACTOR", "2",
              "Move jobs only where the wait that is expected to be saved is at least that many "
              "times the time for which they are interrupted in all"},
    OptionRow{"at_most", "N moves/TIME per job", "1 move/30 min per job", "Move no job more often"},
    OptionRow{"hours", "FROM-UNTIL", "always",
              "Begin only at these hours of the day: 22:00-06:00, or always"},
};

Duration read_length(OptionReader& in, std::string_view name, Duration least) {
  const auto time = parse_human(in.text(name));
  if (time && *time >= least && *time <= longest_duration) return *time;
  in.refuse(name, fmt::format("'{}' is not a time of {} or more; write 30 s, 2 min or 1 h",
                              shown(in.text(name)), human(least)));
  return least;
}

/// "1 move/30 min per job"
void read_at_most(OptionReader& in, CompactionRules& rules) {
  std::string_view given = in.text("at_most");
  const auto refuse = [&] {
    in.refuse("at_most", fmt::format("'{}' is not a limit; write 1 move/30 min per job",
                                     shown(in.text("at_most"))));
  };
  constexpr std::string_view end = "per job";
  if (!given.ends_with(end)) return refuse();
  given = trimmed(given.substr(0, given.size() - end.size()));
  const std::size_t slash = given.find('/');
  if (slash == std::string_view::npos) return refuse();
  std::string_view count = trimmed(given.substr(0, slash));
  for (const std::string_view word : {"moves", "move"})
    if (count.ends_with(word)) {
      count = trimmed(count.substr(0, count.size() - word.size()));
      break;
    }
  const auto moves = parse_integer(count);
  const auto every = parse_human(trimmed(given.substr(slash + 1)));
  if (!moves || *moves < 1 || *moves > 1000 || !every || *every < std::chrono::seconds(1))
    return refuse();
  rules.moves = *moves;
  rules.every = *every;
}

/// "22:00", "6": minutes after midnight.
std::optional<int> parse_clock(std::string_view given) {
  const std::size_t colon = given.find(':');
  const auto hours = parse_integer(given.substr(0, colon));
  const auto past = colon == std::string_view::npos ? std::optional<std::int64_t>(0)
                                                    : parse_integer(given.substr(colon + 1));
  if (!hours || !past || *hours < 0 || *hours > 24 || *past < 0 || *past > 59) return std::nullopt;
  const auto at = static_cast<int>(*hours * 60 + *past);
  return at <= day ? std::optional(at % day) : std::nullopt;
}

void read_hours(OptionReader& in, CompactionRules& rules) {
  if (in.is("hours", "always")) return;
  const std::string_view given = in.text("hours");
  const std::size_t dash = given.find('-');
  const auto from = parse_clock(trimmed(given.substr(0, dash)));
  const auto until =
      dash == std::string_view::npos ? std::nullopt : parse_clock(trimmed(given.substr(dash + 1)));
  if (from && until) {
    rules.hours = DayHours{*from, *until};
  } else {
    in.refuse("hours", fmt::format("'{}' are not hours of the day; write 22:00-06:00 or always",
                                   shown(given)));
  }
}

std::string clock_text(int at) {
  return fmt::format("{:02}:{:02}", at / 60, at % 60);
}

}  // namespace

bool DayHours::contains(Duration since_midnight) const {
  if (from == until) return true;
  const Duration begin = minutes(from), end = minutes(until);
  return from < until ? since_midnight >= begin && since_midnight < end
                      : since_midnight >= begin || since_midnight < end;
}

Duration DayHours::begin_in(Duration since_midnight) const {
  if (contains(since_midnight)) return {};
  const Duration left = minutes(from) - since_midnight;
  return left >= Duration::zero() ? left : left + minutes(day);
}

std::span<const OptionRow> compaction_options() {
  return rows;
}

Result<CompactionRules> read_compaction(const OptionTexts& given) {
  const auto options = complete(given, rows, "compaction");
  if (!options) return std::unexpected(options.error());
  OptionReader in(*options);
  CompactionRules rules;
  rules.when_waiting = read_length(in, "when_waiting", std::chrono::seconds(1));
  rules.gain = in.number("gain", 0, 1e6);
  read_at_most(in, rules);
  read_hours(in, rules);
  if (in.error()) return std::unexpected(*in.error());
  return rules;
}

Result<std::optional<CompactionRules>> parse_compaction(std::string_view given) {
  if (given == "off") return std::optional<CompactionRules>();
  if (given == "on") return std::optional(CompactionRules());
  const auto options = options_of(fmt::format("compaction:{}", given), "");
  if (!options)
    return fail(options.error().kind, "", options.error().message,
                "write on, off, or when_waiting=2 min;gain=2");
  auto rules = read_compaction(*options);
  if (!rules) return std::unexpected(rules.error());
  return std::optional(*rules);
}

std::string text(const CompactionRules& rules) {
  return fmt::format(
      "when_waiting={};gain={};at_most={} {}/{} per job;hours={}", length_text(rules.when_waiting),
      rules.gain, rules.moves, rules.moves == 1 ? "move" : "moves", length_text(rules.every),
      rules.hours
          ? fmt::format("{}-{}", clock_text(rules.hours->from), clock_text(rules.hours->until))
          : "always");
}

}  // namespace cleave
