#pragma once
// Which row gets which of a few columns so that the sum of what that is worth is greatest; anything
// may be left out (the assignment problem: Kuhn, *The Hungarian Method*, 1955).

#include <cstddef>
#include <span>
#include <vector>

namespace cleave {

/// What each of `rows` is worth in each of `columns`, by row; only what is above 0 is ever taken.
struct WorthTable {
  std::size_t rows = 0, columns = 0;
  std::vector<double> cells;

  [[nodiscard]] double at(std::size_t row, std::size_t column) const {
    return cells[row * columns + column];
  }
};

inline constexpr std::size_t unassigned = static_cast<std::size_t>(-1);

/// Solves many small tables, one after the other.
class Assignment {
 public:
  /// The greatest sum.
  double solve(const WorthTable& table);
  /// Of the last table: by row its column, or `unassigned`.
  [[nodiscard]] std::span<const std::size_t> columns() const { return column_of_; }

 private:
  std::vector<double> row_price_, column_price_, slack_;
  std::vector<std::size_t> row_in_, before_, column_of_;
  std::vector<char> seen_;
};

}  // namespace cleave
