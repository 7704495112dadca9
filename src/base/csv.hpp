#pragma once
// CSV as programs write it: a header line, cells that may stand in double quotes (doubled inside),
// LF or CRLF. Where the header has no comma, its semicolons or else its tabs separate the cells.
// Every row has as many cells as the header; a row with another number is an error.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// A cell as it is written: in quotes where it needs them.
[[nodiscard]] std::string csv_cell(std::string_view text);

/// Reads a text of CSV row by row.
class CsvReader {
 public:
  /// Reads the header; `text` must outlive the reader, `place` is the file's name.
  [[nodiscard]] static Result<CsvReader> open(std::string_view text, std::string place);

  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  /// Index of a column; an error when there is none of that name.
  [[nodiscard]] Result<std::size_t> column(std::string_view name) const;

  /// The next row into `cells`; false at the end. Empty lines are skipped. After an error the next
  /// call goes on behind the line on which the row began.
  [[nodiscard]] Result<bool> next(std::vector<std::string>& cells);
  /// "pods.csv:17": the line on which the last row began.
  [[nodiscard]] std::string place() const;

 private:
  CsvReader(std::string_view text, std::string place) : rest_(text), place_(std::move(place)) {}
  Result<bool> read_row(std::vector<std::string>& cells);
  Result<void> read_cells(std::vector<std::string>& cells, std::size_t& at);

  std::string_view rest_;
  std::string place_;
  char separator_ = ',';
  std::size_t line_ = 0, next_line_ = 1;
  std::vector<std::string> columns_;
};

}  // namespace cleave
