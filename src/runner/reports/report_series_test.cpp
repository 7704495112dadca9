#include "runner/reports/report_series.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(ReportSeries, IsBoundedSpansAllAndKeepsTheLast) {
  ReportSeries series;
  for (std::int64_t i = 1; i <= 100'000; ++i) {
    series.add({i, {}, MiB{i}, MiB{i}});
    const auto all = series.after(0);
    ASSERT_LE(all.size(), ReportSeries::capacity);
    ASSERT_EQ(all.back().sequence, i);
  }
  const auto all = series.after(0);
  EXPECT_GE(all.size(), ReportSeries::capacity / 2);
  EXPECT_EQ(all.front().sequence, 1);
  for (std::size_t i = 2; i < all.size(); ++i)
    ASSERT_LE(all[i].sequence - all[i - 1].sequence, 512) << "no part of the run is missing";
  for (std::size_t i = 1; i < all.size(); ++i) ASSERT_LT(all[i - 1].sequence, all[i].sequence);
  EXPECT_EQ(series.after(99'999).size(), 1U);
  EXPECT_TRUE(series.after(100'000).empty());
}

TEST(ReportRate, GivesWhatItSaysAndSaysWhen) {
  using Clock = ReportRate::Clock;
  Clock::time_point now{};
  ReportRate rate(now);
  int taken = 0;
  for (int ms = 0; ms < 10'000; ++ms, now += std::chrono::milliseconds(1))
    while (rate.take(now)) ++taken;
  EXPECT_NEAR(taken, ReportRate::at_once + 10 * ReportRate::per_second, 2);
  EXPECT_GT(rate.next(), now - std::chrono::milliseconds(1));
  EXPECT_TRUE(rate.take(rate.next()));
}

}  // namespace
}  // namespace cleave
