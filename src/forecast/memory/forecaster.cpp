#include "forecast/memory/forecaster.hpp"

#include <algorithm>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "forecast/memory/forecasters.hpp"

namespace cleave {

namespace {

Result<std::unique_ptr<Forecaster>> make_none(const OptionTexts&) {
  return nullptr;
}

}  // namespace

std::span<const ForecasterRow> forecasters() {
  static const ForecasterRow table[] = {
      {"none", "jobs restart when they have run out of memory", "no forecast", {}, make_none},
      laws_row,
      trend_row,
      last_value_row,
      running_max_row,
  };
  return table;
}

Result<std::unique_ptr<Forecaster>> make_forecaster(std::string_view spec) {
  const std::string place = fmt::format("forecaster '{}'", shown(spec));
  const std::string_view name = spec.substr(0, spec.find(':'));
  const auto table = forecasters();
  const auto row = std::ranges::find(table, name, &ForecasterRow::name);
  if (row == table.end()) {
    std::vector<std::string> known;
    for (const ForecasterRow& other : table) known.emplace_back(other.name);
    return fail(ErrorKind::bad_usage, "", fmt::format("there is no forecaster '{}'", shown(name)),
                suggestion(name, known));
  }
  const auto given = options_of(spec, place);
  if (!given) return std::unexpected(given.error());
  const auto options = complete(*given, row->options, fmt::format("forecaster {}", row->name));
  if (!options) return fail_at(place, options.error());
  auto made = row->make(*options);
  if (!made) return fail_at(place, made.error());
  return made;
}

Result<double> share_option(const OptionTexts& options, std::string_view name, double least,
                            double most) {
  const std::string& text = options.find(name)->second;
  const auto value = parse_number(text);
  if (!value || !(*value >= least && *value <= most))
    return fail(ErrorKind::bad_usage, std::string(name),
                fmt::format("'{}' is not a number from {} to {}", shown(text), least, most),
                fmt::format("give a number from {} to {}", least, most));
  return *value;
}

Result<std::int64_t> count_option(const OptionTexts& options, std::string_view name,
                                  std::int64_t least, std::int64_t most) {
  const std::string& text = options.find(name)->second;
  const auto value = parse_integer(text);
  if (!value || *value < least || *value > most)
    return fail(ErrorKind::bad_usage, std::string(name),
                fmt::format("'{}' is not a whole number from {} to {}", shown(text), least, most),
                fmt::format("give a whole number from {} to {}", least, most));
  return *value;
}

Result<MiB> size_option(const OptionTexts& options, std::string_view name) {
  return parse_size(options.find(name)->second);
}

}  // namespace cleave
