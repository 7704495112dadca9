#pragma once
// Named options of policies, schedulers, forecasters and generators as rows of a table, so that
// help, documentation, checks and defaults come from one place. Also the search of tables by name.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/quantity.hpp"
#include "base/ratio.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "base/time.hpp"

namespace cleave {

/// An option: its name, its values - "compute|memory|joint" for a choice, otherwise a word for what
/// goes there - and what help says.
struct OptionRow {
  std::string_view name;
  std::string_view values;
  std::string_view otherwise;  // the default, as the user would write it
  std::string_view help;
};

/// Option names with their values as written.
using OptionTexts = std::map<std::string, std::string, std::less<>>;

/// The options of "NAME:key=value;key=value" as written; none where there is no colon. `place` is
/// said in the error.
[[nodiscard]] Result<OptionTexts> options_of(std::string_view spec, const std::string& place);

/// Checks names and, where a row lists them with '|', values; fills in the defaults. `owner` is
/// what the options belong to: "scheduler online".
[[nodiscard]] Result<OptionTexts> complete(const OptionTexts& given,
                                           std::span<const OptionRow> rows, std::string_view owner);

/// Reads the values of complete options. The first that is wrong is kept as the error, which names
/// the option; what is wrong is read as `least`.
class OptionReader {
 public:
  /// `options` must outlive the reader.
  explicit OptionReader(const OptionTexts& options) : options_(&options) {}

  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] bool is(std::string_view name, std::string_view value) const;
  /// A number from `least` to `most`; the same exactly; and the same as seconds.
  double number(std::string_view name, double least, double most);
  Ratio ratio(std::string_view name, Ratio least, Ratio most);
  Duration seconds(std::string_view name, double least, double most);
  /// A whole number from `least` to `most`.
  std::int64_t count(std::string_view name, std::int64_t least, std::int64_t most);
  /// "900", "2GiB".
  MiB size(std::string_view name);
  /// Refuses the value of `name`, unless there was an error before.
  void refuse(std::string_view name, const std::string& why);

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  void keep(std::string_view name, const Error& error);

  const OptionTexts* options_;
  std::optional<Error> error_;
};

/// "there is no policy 'x'; did you mean 'y'?": the error for a name that is not among `known`.
[[nodiscard]] Error no_such(std::string_view what, std::string_view name,
                            std::span<const std::string> known);

/// The row of this name in a table; `what` the rows are is said in the error.
template <class Row>
[[nodiscard]] Result<const Row*> find_row(std::span<const Row> rows, std::string_view name,
                                          std::string_view what) {
  for (const Row& row : rows)
    if (row.name == name) return &row;
  return std::unexpected(no_such(what, name, names_of(rows)));
}

/// A row of a table with its options, all of them.
template <class Row>
struct NamedRow {
  const Row* row;
  OptionTexts options;
};

/// Reads "NAME:key=value;key=value"; rows have a name and options.
template <class Row>
[[nodiscard]] Result<NamedRow<Row>> read_spec(std::span<const Row> rows, std::string_view spec,
                                              std::string_view what) {
  const auto row = find_row(rows, spec.substr(0, spec.find(':')), what);
  if (!row) return std::unexpected(row.error());
  const std::string place = std::string(what) + " '" + shown(spec) + "'";
  const auto given = options_of(spec, place);
  if (!given) return std::unexpected(given.error());
  auto options =
      complete(*given, (*row)->options, std::string(what) + " " + std::string((*row)->name));
  if (!options) return fail_at(place, options.error());
  return NamedRow<Row>{*row, std::move(*options)};
}

}  // namespace cleave
