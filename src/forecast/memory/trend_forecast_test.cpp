#include "forecast/memory/trend_forecast.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cleave {
namespace {

/// Requests along a line with noise; all requested memory is held.
double request(std::int64_t i, double base, double slope, double noise) {
  return base + slope * static_cast<double>(i) +
         noise * normal_of(1, 0, static_cast<std::uint64_t>(i));
}

TEST(TrendForecast, ALineIsForetoldAtTheSixthSample) {
  TrendForecast forecast({});
  for (std::int64_t i = 1; i <= 6; ++i) {
    EXPECT_FALSE(forecast.peak()) << i;
    forecast.add(i, 5000 + 50.0 * static_cast<double>(i), 4000 + 40.0 * static_cast<double>(i));
    forecast.predict(100);
  }
  ASSERT_TRUE(forecast.peak());
  EXPECT_NEAR(*forecast.peak(), 8000, 1e-6);
}

TEST(TrendForecast, SaysNothingWithTooFewSamples) {
  TrendForecast forecast({});
  EXPECT_FALSE(forecast.predict(100));
  forecast.add(1, 10, 10);
  forecast.add(2, 20, 20);
  EXPECT_FALSE(forecast.predict(100));
  EXPECT_FALSE(forecast.peak());
}

TEST(TrendForecast, MissingSamplesLeaveTheLineWhereItIs) {
  TrendForecast whole({}), holes({});
  for (std::int64_t i = 1; i <= 60; ++i) {
    const double held = 3000 + 7 * static_cast<double>(i);
    whole.add(i, held, held);
    if (i % 7 != 3 && i % 5 != 0) holes.add(i, held, held);
  }
  EXPECT_NEAR(whole.predict(500)->peak, holes.predict(500)->peak, 1e-6);
  holes.add(58, 1, 1);  // late
  holes.add(61, 0, 1);  // asks for nothing
  holes.add(62, 10, -1);
  EXPECT_EQ(holes.passed_over(), 3);
  EXPECT_NEAR(whole.predict(500)->peak, holes.predict(500)->peak, 1e-6);
}

TEST(TrendForecast, AWarmUpIsSkippedWhereAskedFor) {
  TrendOptions options;
  TrendForecast plain(options);
  options.warm_up = 10;
  TrendForecast skips(options);
  for (std::int64_t i = 1; i <= 40; ++i) {
    const double held = i <= 10 ? 9000 - 400.0 * static_cast<double>(i) : 5000;
    plain.add(i, held, held);
    skips.add(i, held, held);
  }
  EXPECT_NEAR(skips.predict(200)->peak, 5000, 1e-6);
  EXPECT_LT(plain.predict(200)->peak, 4900);
}

TEST(TrendForecast, ALastingJumpRestartsTheFitIfAskedFor) {
  TrendOptions options;
  TrendForecast plain(options);
  options.shift = true;
  TrendForecast shifts(options);
  for (std::int64_t i = 1; i <= 80; ++i) {
    const double held = request(i, i <= 50 ? 4000 : 7000, 0, 5);
    for (TrendForecast* each : {&plain, &shifts}) {
      each->add(i, held, held);
      each->predict(300);
    }
  }
  EXPECT_EQ(shifts.shifts(), 1);
  EXPECT_NEAR(*shifts.peak(), 7000, 60);
  EXPECT_GT(plain.predict(300)->peak, 12'000);
  // One stray sample is not a jump.
  TrendForecast stray(options);
  for (std::int64_t i = 1; i <= 80; ++i) {
    const double held = i == 40 ? 9000 : request(i, 4000, 0, 5);
    stray.add(i, held, held);
  }
  EXPECT_EQ(stray.shifts(), 0);
}

TEST(TrendForecast, MemoryThatRestsCausesNoRestartWhereAskedFor) {
  TrendOptions options;
  TrendForecast plain(options);
  options.plateau = true;
  TrendForecast rests(options);
  double most = 0;
  for (std::int64_t i = 1; i <= 200; ++i) {
    const double held = i <= 60 ? request(i, 3000, 50, 5) : request(i, 6000, 0, 5);
    plain.add(i, held, held);
    rests.add(i, held, held);
    if (i > 100) most = std::max(most, rests.predict(400)->peak);
  }
  EXPECT_TRUE(rests.level());
  EXPECT_LT(most, 6100);
  EXPECT_GT(plain.predict(400)->peak, 7000);
  // Growing memory is not held back.
  TrendForecast grows(options);
  for (std::int64_t i = 1; i <= 100; ++i) {
    const double held = request(i, 3000, 5, 5);
    grows.add(i, held, held);
  }
  EXPECT_NEAR(grows.predict(400)->peak, 5000, 60);
  EXPECT_FALSE(grows.level());
}

TEST(TrendForecast, NoiseThatIsNotNormalWidensTheIntervalWhereAskedFor) {
  TrendOptions options;
  TrendForecast plain(options);
  options.noise = TrendOptions::Noise::any;
  TrendForecast any(options);
  // One sample in fifty lies far above the line: more than one in a hundred, and beyond 2.58
  // spreads.
  for (std::int64_t i = 1; i <= 1000; ++i) {
    const double held = 5000 + (i % 50 == 0 ? 1000 : 0);
    plain.add(i, held, held);
    any.add(i, held, held);
  }
  EXPECT_LT(plain.margin(1000), 400);
  EXPECT_GT(any.margin(1000), 600);
}

TEST(TrendForecast, AFallingTrendIsAskedForWhereAsked) {
  TrendOptions options;
  TrendForecast plain(options);
  options.at = TrendOptions::At::most_ahead;
  TrendForecast ahead(options);
  for (std::int64_t i = 1; i <= 20; ++i) {
    const double held = 5000 - 20.0 * static_cast<double>(i);
    plain.add(i, held, held);
    ahead.add(i, held, held);
  }
  EXPECT_NEAR(plain.predict(100)->peak, 3000, 1e-6);
  EXPECT_NEAR(ahead.predict(100)->peak, 4980, 1e-6);
}

TEST(TrendForecast, APredictionIntervalIsWiderWhileSamplesAreFew) {
  TrendOptions options;
  TrendForecast normal(options);
  options.interval = TrendOptions::Interval::prediction;
  TrendForecast wide(options);
  for (std::int64_t i = 1; i <= 6; ++i) {
    const double held = request(i, 5000, 10, 20);
    normal.add(i, held, held);
    wide.add(i, held, held);
  }
  EXPECT_GT(wide.margin(100), 3 * normal.margin(100));
  for (std::int64_t i = 7; i <= 5000; ++i) {
    const double held = request(i, 5000, 10, 20);
    normal.add(i, held, held);
    wide.add(i, held, held);
  }
  EXPECT_NEAR(wide.margin(5000) / normal.margin(5000), 1, 0.01);
}

TEST(TrendForecast, NoiseOfAnyKindNeverNarrowsTheInterval) {
  // Mostly level, occasionally far off: the spread is large, but the residuals' 99 % quantile not
  // always.
  TrendOptions any;
  any.noise = TrendOptions::Noise::any;
  TrendForecast with(any), without{TrendOptions{}};
  for (std::int64_t i = 1; i <= 2000; ++i) {
    const double held = 1000 + (i % 180 == 7 ? -600 : 0) + 0.01 * static_cast<double>(i % 3);
    with.add(i, held, held);
    without.add(i, held, held);
    EXPECT_GE(with.margin(static_cast<double>(i)), without.margin(static_cast<double>(i)) - 1e-9)
        << i;
  }
}

}  // namespace
}  // namespace cleave
