#pragma once
// How figures look to people: tables, times, shares.

#include <string>
#include <string_view>
#include <vector>

#include "base/human_time.hpp"

namespace cleave::cli {

/// A table with a header; columns that hold only numbers are aligned to the right. Two spaces
/// between columns.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// "63 %"
std::string percent(double share);
/// A figure of a run or of a comparison, by the unit of its row in model/run_summary.cpp.
std::string in_unit(std::string_view unit, double value);

}  // namespace cleave::cli
