#pragma once
// How figures look to people: tables, times, shares.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/human_time.hpp"
#include "base/terminal.hpp"

namespace cleave::cli {

/// A table with a header; columns that hold only numbers are aligned to the right. Two spaces
/// between columns.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Where it is wider than `width`, which is that of the terminal unless something else is said,
  /// headings and then cells of words are wrapped; if that is not enough, the columns follow in
  /// blocks, each with the first column. 0: as wide as it is.
  [[nodiscard]] std::string text(std::size_t width = terminal_width()) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// "63 %"
std::string percent(double share);
/// A figure of a run or of a comparison, by the unit of its row in model/run_summary.cpp.
std::string in_unit(std::string_view unit, double value);
/// The same of the figures of one column: times are all in the unit that suits the longest. "-"
/// where there is none.
std::vector<std::string> in_one_unit(std::string_view unit,
                                     const std::vector<std::optional<double>>& values);

}  // namespace cleave::cli
