#include "base/options.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/text.hpp"

namespace cleave {

Result<OptionTexts> options_of(std::string_view spec, const std::string& place) {
  OptionTexts given;
  const std::size_t colon = spec.find(':');
  if (colon == std::string_view::npos) return given;
  for (const std::string_view part : split(spec.substr(colon + 1), ';')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return fail(ErrorKind::bad_usage, place, fmt::format("'{}' is not an option", shown(part)),
                  "write NAME:key=value;key=value");
    if (equals + 1 == part.size())
      return fail(ErrorKind::bad_usage, place, fmt::format("'{}' has no value", shown(part)),
                  "give one, or leave the option out");
    if (!given.emplace(part.substr(0, equals), part.substr(equals + 1)).second)
      return fail(ErrorKind::bad_usage, place,
                  fmt::format("{} is given twice", shown(part.substr(0, equals))));
  }
  return given;
}

Result<OptionTexts> complete(const OptionTexts& given, std::span<const OptionRow> rows,
                             std::string_view owner) {
  OptionTexts all;
  for (const OptionRow& row : rows) all.emplace(row.name, row.otherwise);
  for (const auto& [name, value] : given) {
    const auto row = std::ranges::find(rows, name, &OptionRow::name);
    if (row == rows.end())
      return fail(ErrorKind::bad_usage, "",
                  fmt::format("{} has no option '{}'", owner, shown(name)),
                  suggestion(name, names_of(rows)));
    if (row->values.find('|') != std::string_view::npos) {
      std::vector<std::string> choices;
      for (const std::string_view choice : split(row->values, '|')) choices.emplace_back(choice);
      if (std::ranges::find(choices, value) == choices.end())
        return fail(ErrorKind::bad_usage, std::string(name),
                    fmt::format("'{}' is not a value of it", shown(value)),
                    suggestion(value, choices));
    }
    all.insert_or_assign(name, value);
  }
  return all;
}

const std::string& OptionReader::text(std::string_view name) const {
  return options_->find(name)->second;
}

bool OptionReader::is(std::string_view name, std::string_view value) const {
  return text(name) == value;
}

void OptionReader::refuse(std::string_view name, const std::string& why) {
  keep(name, {ErrorKind::bad_usage, "", why, ""});
}

void OptionReader::keep(std::string_view name, const Error& error) {
  if (!error_) error_ = fail_at(std::string(name), error).error();
}

double OptionReader::number(std::string_view name, double least, double most) {
  const auto value = parse_number(text(name));
  if (value && *value >= least && *value <= most) return *value;
  refuse(name, fmt::format("'{}' is not a number from {} to {}", shown(text(name)), least, most));
  return least;
}

Ratio OptionReader::ratio(std::string_view name, Ratio least, Ratio most) {
  const auto value = Ratio::parse(text(name));
  if (value && *value >= least && *value <= most) return *value;
  if (!value) {
    keep(name, value.error());
  } else {
    refuse(name, fmt::format("'{}' is not a number from {} to {}", shown(text(name)),
                             least.decimal(), most.decimal()));
  }
  return least;
}

Duration OptionReader::seconds(std::string_view name, double least, double most) {
  const std::string& given = text(name);
  // Those with units are never below zero; the others are numbers, some of which may be.
  if (parse_number(given)) return Duration{std::llround(number(name, least, most) * 1e9)};
  const auto time = parse_human(given);
  if (time && in_seconds(*time) >= least && in_seconds(*time) <= most) return *time;
  if (!time)
    keep(name, time.error());
  else
    refuse(name, fmt::format("'{}' is not between {} and {} seconds", shown(given), least, most));
  return Duration{std::llround(least * 1e9)};
}

std::int64_t OptionReader::count(std::string_view name, std::int64_t least, std::int64_t most) {
  const auto value = parse_integer(text(name));
  if (value && *value >= least && *value <= most) return *value;
  refuse(name,
         fmt::format("'{}' is not a whole number from {} to {}", shown(text(name)), least, most));
  return least;
}

MiB OptionReader::size(std::string_view name) {
  const auto value = parse_size(text(name));
  if (value) return *value;
  keep(name, value.error());
  return {};
}

Error no_such(std::string_view what, std::string_view name, std::span<const std::string> known) {
  return {ErrorKind::bad_usage, "", fmt::format("there is no {} '{}'", what, shown(name)),
          suggestion(name, known)};
}

}  // namespace cleave
