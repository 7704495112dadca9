#include "base/options.hpp"

#include <algorithm>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

Result<OptionTexts> complete(const OptionTexts& given, std::span<const OptionRow> rows,
                             std::string_view owner) {
  OptionTexts all;
  for (const OptionRow& row : rows) all.emplace(row.name, row.otherwise);
  for (const auto& [name, value] : given) {
    const auto row = std::ranges::find(rows, name, &OptionRow::name);
    if (row == rows.end()) {
      std::vector<std::string> known;
      for (const OptionRow& other : rows) known.emplace_back(other.name);
      return fail(ErrorKind::bad_usage, "", fmt::format("{} has no option '{}'", owner, shown(name)),
                  suggestion(name, known));
    }
    if (row->values.find('|') != std::string_view::npos) {
      std::vector<std::string> choices;
      for (const std::string_view choice : split(row->values, '|')) choices.emplace_back(choice);
      if (std::ranges::find(choices, value) == choices.end())
        return fail(ErrorKind::bad_usage, std::string(name),
                    fmt::format("'{}' is not a value of it", shown(value)), suggestion(value, choices));
    }
    all.insert_or_assign(name, value);
  }
  return all;
}

}  // namespace cleave
