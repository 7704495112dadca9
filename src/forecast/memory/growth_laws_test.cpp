#include "forecast/memory/growth_laws.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.hpp"
#include "forecast/memory/distributions.hpp"

namespace cleave {
namespace {

SeriesDigest digest_of(std::int64_t count, const std::function<double(double)>& value,
                       double noise = 0, std::uint64_t seed = 1) {
  SeriesDigest digest;
  for (std::int64_t i = 1; i <= count; ++i)
    digest.add(
        static_cast<double>(i),
        value(static_cast<double>(i)) + noise * normal_of(seed, 0, static_cast<std::uint64_t>(i)));
  return digest;
}

TEST(GrowthLaws, TheDistributionIsOne) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto count = static_cast<std::int64_t>(6 + 300 * uniform_of(seed, 1, 1));
    const double slope = 100 * (uniform_of(seed, 2, 1) - 0.3);
    const SeriesDigest digest = digest_of(
        count, [&](double t) { return 8000 + slope * t; }, 40, seed);
    const GrowthLaws laws(digest, 2 * static_cast<double>(count));
    const PeakDistribution peak = laws.peak(1.5 * static_cast<double>(count));
    EXPECT_EQ(peak.above(digest.highest() - 1), 1);
    double before = 1;
    for (double size = digest.highest(); size < 3 * digest.highest(); size *= 1.02) {
      const double above = peak.above(size);
      EXPECT_LE(above, before + 1e-12);
      EXPECT_GE(above, 0);
      before = above;
    }
    double lower = 0;
    for (const double share : {0.01, 0.1, 0.5, 0.9, 0.99}) {
      const double size = peak.quantile(share);
      EXPECT_GE(size, lower);
      EXPECT_GE(size, digest.highest());
      lower = size;
      if (size > digest.highest() * 1.0001) {
        EXPECT_NEAR(peak.above(size), 1 - share, 0.02);
      }
    }
    // Later is never lower.
    EXPECT_GE(laws.peak(2 * static_cast<double>(count)).quantile(0.5),
              peak.quantile(0.5) * (1 - 1e-4));
  }
}

TEST(GrowthLaws, ALineGoesOnAndARestingSeriesRests) {
  const auto line = [](double t) { return 4000 + 10 * t; };
  const SeriesDigest rising = digest_of(100, line, 5);
  EXPECT_NEAR(GrowthLaws(rising, 400).peak(400).quantile(0.5), 8000, 400);
  const SeriesDigest resting = digest_of(
      200, [&](double t) { return line(std::min(t, 60.0)); }, 5);
  EXPECT_LT(GrowthLaws(resting, 400).peak(400).quantile(0.9), 4800);
  const SeriesDigest level = digest_of(
      50, [](double) { return 6000; }, 30);
  EXPECT_LT(GrowthLaws(level, 1000).peak(1000).quantile(0.9), 6300);
  const SeriesDigest saturating = digest_of(
      150, [](double t) { return 3000 + 5000 * (1 - std::exp(-t / 80)); }, 5);
  EXPECT_NEAR(GrowthLaws(saturating, 600).peak(600).quantile(0.5), 8000, 400);
}

// The digest of a long run still shows its beginning.
TEST(GrowthLaws, ALineIsSeenAtTheBeginningOfAVeryLongRun) {
  SeriesDigest digest;
  for (int i = 0; i < 100; ++i) digest.add(1e9 + i, 4000 + 10.0 * i);
  const GrowthLaws laws(digest, 1e12);
  EXPECT_NEAR(laws.peak(1e9 + 300).quantile(0.5), 7000, 300);
}

TEST(GrowthLaws, AnEarlyLineLeavesOpenWhetherItGoesOn) {
  const SeriesDigest early = digest_of(
      20, [](double t) { return 4000 + 10 * t; }, 5);
  const PeakDistribution peak = GrowthLaws(early, 1000).peak(1000);
  EXPECT_LT(peak.quantile(0.05), 6000);
  EXPECT_GT(peak.quantile(0.95), 12'000);
}

TEST(GrowthLaws, MostPeaksLieWithinTheQuantiles) {
  int within = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const double slope = 5 + 20 * uniform_of(seed, 3, 1);
    const SeriesDigest whole = digest_of(
        300, [&](double t) { return 5000 + slope * t; }, 60, seed);
    const SeriesDigest early = digest_of(
        100, [&](double t) { return 5000 + slope * t; }, 60, seed);
    const PeakDistribution peak = GrowthLaws(early, 300).peak(300);
    within +=
        whole.highest() >= peak.quantile(0.05) && whole.highest() <= peak.quantile(0.95) ? 1 : 0;
    ++all;
  }
  EXPECT_GT(within, 0.8 * all);
}

TEST(Distributions, AreNearTheTables) {
  EXPECT_NEAR(normal_quantile(0.995), two_sided_99, 1e-9);
  EXPECT_NEAR(normal_quantile(0.99), one_sided_99, 1e-9);
  EXPECT_NEAR(normal_quantile(0.01), -one_sided_99, 1e-9);
  EXPECT_NEAR(normal_quantile(1e-9), -5.99780702, 1e-6);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
  EXPECT_NEAR(student_below(2.228, 10), 0.975, 1e-3);
  for (std::size_t freedom = 1; freedom <= 128; ++freedom)
    for (double x = -40; x <= 40; x += 0.17)
      ASSERT_NEAR(student_curve(freedom).below(x), student_below(x, static_cast<double>(freedom)),
                  2e-4)
          << x << " with " << freedom;
  EXPECT_NEAR(student_quantile(0.975, 10), 2.228, 0.01);
  EXPECT_NEAR(student_quantile(0.995, 4), 4.604, 0.15);
  EXPECT_NEAR(mean_of_largest(1), 0, 1e-9);
  EXPECT_NEAR(mean_of_largest(10), 1.539, 0.01);
  EXPECT_NEAR(mean_of_largest(1000), 3.241, 0.02);
  EXPECT_NEAR(spread_of_largest(100), 0.429, 0.03);
}

}  // namespace
}  // namespace cleave
