#include "planner/mip.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"

namespace cleave {
namespace {

Deadline soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}

using Costs = std::vector<std::int64_t>;
using Entries = std::vector<MipEntry>;

TEST(Mip, ObjectivesOneAfterTheOther) {
  // x + y >= 3; first x + y, then y: all of it in x, which holds two.
  Mip mip(2);
  const int row = mip.add_row(3, Mip::unbounded);
  mip.add_column(2, Costs{1, 0}, Entries{{row, 1}});
  mip.add_column(9, Costs{1, 1}, Entries{{row, 1}});
  const MipOutcome outcome = minimise(mip, {}, soon());
  EXPECT_EQ(outcome.end, MipEnd::proven);
  EXPECT_EQ(outcome.values, (Costs{3, 1}));
  EXPECT_EQ(outcome.bounds, outcome.values);
  EXPECT_EQ(outcome.solution, (Costs{2, 1}));
}

TEST(Mip, BoundIsRoundedUp) {
  // An odd cycle to be covered: the relaxation gives 2.5, the answer is 3.
  Mip mip(1);
  std::vector<int> rows;
  for (int i = 0; i < 5; ++i) rows.push_back(mip.add_row(1, Mip::unbounded));
  for (std::size_t i = 0; i < 5; ++i)
    mip.add_column(1, Costs{1}, Entries{{rows[i], 1}, {rows[(i + 1) % 5], 1}});
  const MipOutcome outcome = minimise(mip, {}, soon());
  EXPECT_EQ(outcome.end, MipEnd::proven);
  EXPECT_EQ(outcome.values, Costs{3});
  EXPECT_EQ(outcome.proofs[0], MipProof::relaxation);
}

/// Lines of the Fano plane, with each point on a chosen line: the relaxation gives 7/3, and even
/// rounded up that cannot be reached.
Mip fano(std::size_t objectives) {
  constexpr int lines[7][3] = {{0, 1, 2}, {0, 3, 4}, {0, 5, 6}, {1, 3, 5},
                               {1, 4, 6}, {2, 3, 6}, {2, 4, 5}};
  Mip mip(objectives);
  for (int i = 0; i < 14; ++i) mip.add_row(1, Mip::unbounded);
  for (int copy = 0; copy < 2; ++copy)
    for (const auto& line : lines) {
      Entries entries;
      for (const int point : line) entries.push_back({copy * 7 + point, 1});
      Costs costs(objectives, 0);
      costs[0] = 1;
      if (objectives > 1) costs[1] = line[0];
      mip.add_column(1, costs, entries);
    }
  return mip;
}

TEST(Mip, SearchWhereTheRelaxationIsOutOfReach) {
  // Two planes: 14/3 rounded up is 5, and each takes three lines.
  const MipOutcome outcome = minimise(fano(2), {}, soon());
  EXPECT_EQ(outcome.end, MipEnd::proven);
  EXPECT_EQ(outcome.values[0], 6);
  EXPECT_EQ(outcome.bounds, outcome.values);
  EXPECT_EQ(outcome.proofs[0], MipProof::search);
}

TEST(Mip, WhatPreprocessingWouldLose) {
  // One of two columns, one of four, and a row that the best pair barely satisfies: 1 + 6.
  Mip mip(1);
  const int covered = mip.add_row(0, Mip::unbounded), one = mip.add_row(1, 1),
            other = mip.add_row(1, 1);
  mip.add_column(0, Costs{0}, Entries{{covered, 1}});
  mip.add_column(1, Costs{1}, Entries{{covered, -1}, {one, 1}});
  mip.add_column(1, Costs{7}, Entries{{covered, 3}, {one, 1}});
  mip.add_column(1, Costs{7}, Entries{{covered, 6}, {one, 1}});
  mip.add_column(1, Costs{1}, Entries{{covered, -1}, {other, 1}});
  for (const std::int64_t covers : {2, 3, 4})
    mip.add_column(1, Costs{6}, Entries{{covered, covers}, {other, 1}});
  const MipOutcome outcome = minimise(mip, {}, soon());
  EXPECT_EQ(outcome.end, MipEnd::proven);
  EXPECT_EQ(outcome.values, Costs{7});
}

TEST(Mip, NothingKeepsTheRows) {
  Mip mip(1);
  const int row = mip.add_row(3, 3);
  mip.add_column(9, Costs{1}, Entries{{row, 2}});
  EXPECT_EQ(minimise(mip, {}, soon()).end, MipEnd::infeasible);
  Mip none(1);
  none.add_row(1, Mip::unbounded);
  EXPECT_EQ(minimise(none, {}, soon()).end, MipEnd::infeasible);
}

TEST(Mip, OutOfTimeTheBoundStillHolds) {
  const MipOutcome outcome = minimise(fano(2), {}, std::chrono::steady_clock::now());
  EXPECT_EQ(outcome.end, MipEnd::stopped);
  ASSERT_EQ(outcome.bounds.size(), 2U);
  EXPECT_LE(outcome.bounds[0], 6);
}

/// Tries every solution of a small programme.
std::optional<Costs> best_of_all(const Mip& mip) {
  std::optional<Costs> best;
  Costs x(static_cast<std::size_t>(mip.columns()), 0);
  while (true) {
    std::vector<std::int64_t> sums(static_cast<std::size_t>(mip.rows()), 0);
    Costs values(mip.objectives(), 0);
    for (int c = 0; c < mip.columns(); ++c) {
      const std::int64_t times = x[static_cast<std::size_t>(c)];
      for (const MipEntry& e : mip.column(c).entries)
        sums[static_cast<std::size_t>(e.row)] += e.value * times;
      for (std::size_t o = 0; o < values.size(); ++o) values[o] += mip.column(c).costs[o] * times;
    }
    bool kept = true;
    for (int r = 0; r < mip.rows(); ++r)
      kept = kept && sums[static_cast<std::size_t>(r)] >= mip.least(r) &&
             sums[static_cast<std::size_t>(r)] <= mip.most(r);
    if (kept && (!best || values < *best)) best = values;
    std::size_t c = 0;
    while (c < x.size() && ++x[c] > mip.column(static_cast<int>(c)).most) x[c++] = 0;
    if (c == x.size()) return best;
  }
}

TEST(Mip, AsEverySolutionTriedOut) {
  int infeasible = 0, searched = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    Mip mip(1 + random.below(3));
    const std::uint64_t rows = 1 + random.below(4);
    for (std::uint64_t r = 0; r < rows; ++r) {
      const auto least = static_cast<std::int64_t>(random.below(6));
      mip.add_row(least, random.below(3) == 0 ? least + static_cast<std::int64_t>(random.below(2))
                                              : Mip::unbounded);
    }
    const std::uint64_t columns = 1 + random.below(6);
    for (std::uint64_t c = 0; c < columns; ++c) {
      Costs costs;
      for (std::size_t o = 0; o < mip.objectives(); ++o)
        costs.push_back(static_cast<std::int64_t>(random.below(5)));
      Entries entries;
      for (std::uint64_t r = 0; r < rows; ++r)
        if (const auto value = static_cast<std::int64_t>(random.below(4)); value > 0)
          entries.push_back({static_cast<int>(r), value});
      mip.add_column(1 + static_cast<std::int64_t>(random.below(3)), costs, entries);
    }
    const auto best = best_of_all(mip);
    const MipOutcome outcome = minimise(mip, {}, soon());
    SCOPED_TRACE(seed);
    if (!best) {
      EXPECT_EQ(outcome.end, MipEnd::infeasible);
      ++infeasible;
      continue;
    }
    ASSERT_EQ(outcome.end, MipEnd::proven);
    EXPECT_EQ(outcome.values, *best);
    searched += std::ranges::count(outcome.proofs, MipProof::search) > 0 ? 1 : 0;
  }
  EXPECT_GT(infeasible, 20);
  EXPECT_GT(searched, 5);
}

}  // namespace
}  // namespace cleave
