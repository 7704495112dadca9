#pragma once
// Named options of policies and schedulers as rows of a table, so that help, documentation, checks and
// defaults come from one place.

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cleave {

struct OptionRow {
  std::string_view name;
  std::string_view values;     // "compute|memory|joint" for a choice; otherwise a word for what goes there
  std::string_view otherwise;  // the default, as the user would write it
  std::string_view help;
};

/// Option names with their values as written.
using OptionTexts = std::map<std::string, std::string, std::less<>>;

/// What a table's row is chosen by, as people write it: NAME[:key=value[;key=value]...].
struct WrittenChoice {
  std::string name;
  OptionTexts options;
};
/// `place` is what the errors name.
[[nodiscard]] Result<WrittenChoice> parse_choice(std::string_view text, const std::string& place);

/// Checks names and, where a row lists them with '|', values; fills in the defaults. `owner` is who has the
/// options: "scheduler online".
[[nodiscard]] Result<OptionTexts> complete(const OptionTexts& given, std::span<const OptionRow> rows,
                                           std::string_view owner);

}  // namespace cleave
