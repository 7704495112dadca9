#include "base/time_counts.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using namespace std::chrono_literals;

constexpr double bounds[] = {0.1, 1, 10};

TEST(TimeCounts, CountsEachTimeOnceByItsLength) {
  TimeCounts times(bounds);
  for (const Duration each : {Duration(50ms), Duration(100ms), Duration(101ms), Duration(10s),
                              Duration(11s), Duration(1h)})
    times.add(each);
  EXPECT_EQ(times.counts(), (std::vector<std::uint64_t>{2, 1, 1, 2}));
  EXPECT_EQ(times.count(), 6U);
  EXPECT_DOUBLE_EQ(times.sum_s(), 0.05 + 0.1 + 0.101 + 10 + 11 + 3600);
}

TEST(TimeCounts, AClockThatWasSetBackMakesNoNegativeTimes) {
  TimeCounts times(bounds);
  times.add(-5s);
  EXPECT_EQ(times.counts()[0], 1U);
  EXPECT_EQ(times.sum_s(), 0);
}

}  // namespace
}  // namespace cleave
