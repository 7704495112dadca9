#pragma once
// Answers that commands print twice: as text for people, and as JSON for programs. A command says
// once what its columns are, and both follow:
//
//   const Columns<Run> columns = {{"gpus", "GPUs", &Run::gpus},
//                                 {"seconds", "ms", &Run::seconds, decimals(2, 1e3)},
//                                 {"repeats", json_only, &Run::repeats},
//                                 {text_only, "state", [](const Run& run) { return words(run); }}};
//   if (json) print(Json{{"runs", json_rows(columns, runs)}});
//   else fmt::print("{}", text_rows(columns, runs));
//
// Columns of text that hold only numbers are aligned to the right (cli/table.hpp).

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/json.hpp"
#include "base/ratio.hpp"
#include "cli/table.hpp"

namespace cleave::cli {

/// Writes a column's JSON value as text.
using CellText = std::function<std::string(const Json& value)>;

/// A whole number or a word as it stands, yes or no, the elements of a list with spaces between
/// them; "-" where there is no value.
[[nodiscard]] std::string plain_text(const Json& value);
/// The number times `factor`, with this many digits behind the point; `none` where there is none.
[[nodiscard]] CellText decimals(int digits, double factor = 1, std::string none = "-");
/// As `plain_text`, but for this word where there is no value.
[[nodiscard]] CellText or_word(std::string none);
/// For what should always be true: "yes", or "NO" to stand out.
[[nodiscard]] std::string yes_or_alarm(const Json& value);
/// A share of 1 as "63 %".
[[nodiscard]] std::string percent_text(const Json& value);

inline constexpr std::string_view json_only{}, text_only{};

/// A value as JSON: a quantity becomes its number, nothing becomes null.
template <class Value>
[[nodiscard]] Json as_json(const Value& value) {
  if constexpr (requires { requires std::is_arithmetic_v<decltype(value.value)>; })
    return value.value;
  else
    return value;
}
template <class Value>
[[nodiscard]] Json as_json(const std::optional<Value>& value) {
  return value ? as_json(*value) : Json(nullptr);
}

/// An exact fraction, with its value beside it.
[[nodiscard]] Json ratio_json(Ratio ratio);

/// One column: its key in JSON, its heading in text, and how a row gives its value. `get` is a
/// member or a function of the row. The text is that of the value unless `cell` writes it, from the
/// value or from the row.
template <class Row>
struct Column {
  std::string key, heading;  // empty: not in JSON, not in text
  std::function<Json(const Row&)> value;
  std::function<std::string(const Row&)> text;

  template <class Get, class Cell = std::string (*)(const Json&)>
  Column(std::string_view in_json, std::string_view in_text, Get get, Cell cell = plain_text)
      : key(in_json),
        heading(in_text),
        value([get](const Row& row) { return as_json(std::invoke(get, row)); }) {
    if constexpr (std::is_invocable_v<Cell, const Row&> &&
                  !std::is_invocable_v<Cell, const Json&>) {
      text = std::move(cell);
    } else {
      text = [of = value, cell = std::move(cell)](const Row& row) { return cell(of(row)); };
    }
  }
};

/// A table's columns, from left to right; keys in JSON have the same order.
template <class Row>
using Columns = std::vector<Column<Row>>;

/// The row as a JSON object.
template <class Row>
[[nodiscard]] Json json_row(const Columns<Row>& columns, const std::type_identity_t<Row>& row) {
  Json object = Json::object();
  for (const Column<Row>& column : columns)
    if (!column.key.empty()) object[column.key] = column.value(row);
  return object;
}

/// The rows as a JSON array of objects.
template <class Row, class Rows>
[[nodiscard]] Json json_rows(const Columns<Row>& columns, const Rows& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(json_row(columns, row));
  return list;
}

/// The headings of the columns that stand in text.
template <class Row>
[[nodiscard]] std::vector<std::string> headings(const Columns<Row>& columns) {
  std::vector<std::string> all;
  for (const Column<Row>& column : columns)
    if (!column.heading.empty()) all.push_back(column.heading);
  return all;
}

/// The row's cells in text, one for each heading.
template <class Row>
[[nodiscard]] std::vector<std::string> cells(const Columns<Row>& columns,
                                             const std::type_identity_t<Row>& row) {
  std::vector<std::string> all;
  for (const Column<Row>& column : columns)
    if (!column.heading.empty()) all.push_back(column.text(row));
  return all;
}

/// The rows as a table with a header, which fits the width.
template <class Row, class Rows>
[[nodiscard]] std::string text_rows(const Columns<Row>& columns, const Rows& rows,
                                    std::size_t width = terminal_width()) {
  Table table(headings(columns));
  for (const Row& row : rows) table.add(cells(columns, row));
  return table.text(width);
}

}  // namespace cleave::cli
