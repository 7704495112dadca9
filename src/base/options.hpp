#pragma once
// Named options of policies and schedulers as rows of a table, so that help, documentation, checks
// and defaults come from one place.

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cleave {

struct OptionRow {
  std::string_view name;
  std::string_view
      values;  // "compute|memory|joint" for a choice; otherwise a word for what goes there
  std::string_view otherwise;  // the default, as the user would write it
  std::string_view help;
};

/// Option names with their values as written.
using OptionTexts = std::map<std::string, std::string, std::less<>>;

/// The options of "NAME:key=value;key=value" as written; none where there is no colon. `place` is
/// said in the error.
[[nodiscard]] Result<OptionTexts> options_of(std::string_view spec, const std::string& place);

/// Checks names and, where a row lists them with '|', values; fills in the defaults. `owner` is who
/// has the options: "scheduler online".
[[nodiscard]] Result<OptionTexts> complete(const OptionTexts& given,
                                           std::span<const OptionRow> rows, std::string_view owner);

}  // namespace cleave
