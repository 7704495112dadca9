// The two points of the source, and what is assumed between and beyond them.

#include "physics/allocation.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(Allocation, TheTwoMeasuredPointsAreMet) {
  EXPECT_EQ(slower_allocation(1), Duration::zero());
  // 0.98 - 0.24 s and 24.69 - 0.58 ms.
  EXPECT_EQ(slower_allocation(7), std::chrono::microseconds{740'000 + 24'110});
}

TEST(Allocation, BetweenThemItIsALineAndBeyondThemNothingMore) {
  EXPECT_EQ(slower_allocation(4), slower_allocation(7) / 2);
  EXPECT_EQ(slower_allocation(8), slower_allocation(7));
  EXPECT_EQ(slower_allocation(0), Duration::zero());
  EXPECT_EQ(slower_allocation(-3), Duration::zero());
}

}  // namespace
}  // namespace cleave
