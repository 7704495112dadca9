#include "base/options.hpp"

#include <algorithm>
#include <vector>

#include "base/format.hpp"
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
    if (row == rows.end()) {
      std::vector<std::string> known;
      for (const OptionRow& other : rows) known.emplace_back(other.name);
      return fail(ErrorKind::bad_usage, "",
                  fmt::format("{} has no option '{}'", owner, shown(name)),
                  suggestion(name, known));
    }
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

}  // namespace cleave
