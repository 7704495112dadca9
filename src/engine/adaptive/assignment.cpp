#include "engine/adaptive/assignment.hpp"

#include <algorithm>
#include <limits>

namespace cleave {

/// By shortest augmenting paths, a row after the other. Each row has a column of its own besides,
/// worth nothing, in which it is left out. Rows and columns count from 1 here; 0 is none.
double Assignment::solve(const WorthTable& table) {
  const std::size_t rows = table.rows, columns = table.columns + rows;
  row_price_.assign(rows + 1, 0);
  column_price_.assign(columns + 1, 0);
  row_in_.assign(columns + 1, 0);
  before_.assign(columns + 1, 0);
  const auto cost = [&](std::size_t row, std::size_t column) {
    if (column > table.columns) return column - table.columns == row ? 0 : 1e18;
    const double worth = table.at(row - 1, column - 1);
    return worth > 0 ? -worth : 1e18;
  };
  for (std::size_t row = 1; row <= rows; ++row) {
    row_in_[0] = row;
    std::size_t column = 0;
    slack_.assign(columns + 1, std::numeric_limits<double>::infinity());
    seen_.assign(columns + 1, 0);
    do {
      seen_[column] = 1;
      const std::size_t from = row_in_[column];
      double least = std::numeric_limits<double>::infinity();
      std::size_t next = 0;
      for (std::size_t j = 1; j <= columns; ++j) {
        if (seen_[j] != 0) continue;
        const double slack = cost(from, j) - row_price_[from] - column_price_[j];
        if (slack < slack_[j]) {
          slack_[j] = slack;
          before_[j] = column;
        }
        if (slack_[j] < least) {
          least = slack_[j];
          next = j;
        }
      }
      for (std::size_t j = 0; j <= columns; ++j) {
        if (seen_[j] != 0) {
          row_price_[row_in_[j]] += least;
          column_price_[j] -= least;
        } else {
          slack_[j] -= least;
        }
      }
      column = next;
    } while (row_in_[column] != 0);
    for (; column != 0; column = before_[column]) row_in_[column] = row_in_[before_[column]];
  }
  column_of_.assign(rows, unassigned);
  double sum = 0;
  for (std::size_t column = 1; column <= table.columns; ++column) {
    if (row_in_[column] == 0) continue;
    column_of_[row_in_[column] - 1] = column - 1;
    sum += table.at(row_in_[column] - 1, column - 1);
  }
  return sum;
}

}  // namespace cleave
