// The assignment against all that there are, of small random tables.

#include "engine/adaptive/assignment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.hpp"

namespace cleave {
namespace {

/// The greatest sum that rows from `row` on can have, of the columns that are not taken.
double greatest(const WorthTable& table, std::size_t row, std::set<std::size_t>& taken) {
  if (row == table.rows) return 0;
  double most = greatest(table, row + 1, taken);
  for (std::size_t column = 0; column < table.columns; ++column) {
    if (!taken.insert(column).second) continue;
    most = std::max(most, table.at(row, column) + greatest(table, row + 1, taken));
    taken.erase(column);
  }
  return most;
}

WorthTable random_table(Random& random) {
  WorthTable table{random.below(6), random.below(6), {}};
  const double scale = random.below(4) == 0 ? 1e6 : 1;
  for (std::size_t i = 0; i < table.rows * table.columns; ++i)
    table.cells.push_back(
        random.below(4) == 0 ? 0 : scale * (static_cast<double>(random.below(20)) - 5) / 4);
  return table;
}

TEST(Assignment, IsTheBestOfAll) {
  Random random(1);
  Assignment assignment;
  std::size_t left_out = 0, wide = 0, tall = 0;
  for (int round = 0; round < 4000 && !HasFailure(); ++round) {
    const WorthTable table = random_table(random);
    std::set<std::size_t> taken;
    const double best = greatest(table, 0, taken);
    EXPECT_NEAR(assignment.solve(table), best, 1e-9 * std::max(1.0, best)) << round;
    double sum = 0;
    ASSERT_EQ(assignment.columns().size(), table.rows);
    for (std::size_t row = 0; row < table.rows; ++row) {
      const std::size_t column = assignment.columns()[row];
      left_out += column == unassigned ? 1 : 0;
      if (column == unassigned) continue;
      EXPECT_TRUE(taken.insert(column).second) << "twice";
      EXPECT_GT(table.at(row, column), 0);
      sum += table.at(row, column);
    }
    EXPECT_NEAR(sum, best, 1e-9 * std::max(1.0, best)) << round;
    wide += table.columns > table.rows ? 1 : 0;
    tall += table.rows > table.columns ? 1 : 0;
  }
  EXPECT_GT(left_out, 1000U);
  EXPECT_GT(wide, 1000U);
  EXPECT_GT(tall, 1000U);
}

}  // namespace
}  // namespace cleave
