#include "forecast/memory/line_fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "forecast/memory/quantile_sketch.hpp"
#include "forecast/memory/series_digest.hpp"

namespace cleave {
namespace {

struct Reference {
  long double intercept = 0, slope = 0, squared_residuals = 0;
};

/// Two passes in extended precision.
Reference two_passes(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<long double>(x.size());
  long double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i];
    mean_y += y[i];
  }
  mean_x /= n;
  mean_y /= n;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  Reference fit;
  fit.slope = xy / xx;
  fit.intercept = mean_y - fit.slope * mean_x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double residual = y[i] - fit.intercept - fit.slope * x[i];
    fit.squared_residuals += residual * residual;
  }
  return fit;
}

void expect_near(double value, long double expected, double share) {
  EXPECT_NEAR(value, static_cast<double>(expected),
              share * std::max(1e-9, std::abs(static_cast<double>(expected))));
}

TEST(LineFit, EqualsTwoPassesAlsoFarFromZeroAndWithGaps) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const double level = std::pow(10, 12 * random.uniform() - 3),
                 slope = 200 * (random.uniform() - 0.5);
    const double noise = std::pow(10, 4 * random.uniform() - 2);
    LineFit fit;
    std::vector<double> x, y;
    double at = 0;
    const auto count = 3 + random.below(300);
    for (std::uint64_t i = 0; i < count; ++i) {
      at += 1 + static_cast<double>(random.below(5));
      x.push_back(at);
      y.push_back(level + slope * at + noise * (random.uniform() - 0.5));
      fit.add(x.back(), y.back());
    }
    const Reference expected = two_passes(x, y);
    const double rounding = 1e-7 + 1e-13 * level / noise * 1e3;
    expect_near(fit.squared_residuals(), expected.squared_residuals, rounding);
    EXPECT_NEAR(fit.at(at), static_cast<double>(expected.intercept + expected.slope * at),
                1e-9 * level + 1e-6 * noise);
  }
}

TEST(LineFit, StaysSoundOverMillionsOfSamples) {
  LineFit fit;
  std::vector<double> x, y;
  constexpr std::uint64_t count = 3'000'000;
  for (std::uint64_t i = 1; i <= count; ++i) {
    x.push_back(static_cast<double>(i));
    y.push_back(40'000 + 0.01 * static_cast<double>(i) + 5 * normal_of(3, 1, i));
    fit.add(x.back(), y.back());
  }
  const Reference expected = two_passes(x, y);
  expect_near(fit.slope(), expected.slope, 1e-9);
  expect_near(fit.intercept(), expected.intercept, 1e-9);
  expect_near(fit.squared_residuals(), expected.squared_residuals, 1e-9);
}

TEST(LineFit, FewPointsAreNoError) {
  LineFit fit;
  EXPECT_EQ(fit.spread(2), 0);
  EXPECT_EQ(fit.leverage(5), 0);
  fit.add(4, 10);
  EXPECT_EQ(fit.at(9), 10);
  fit.add(5, 12);
  EXPECT_DOUBLE_EQ(fit.at(9), 20);
  EXPECT_EQ(fit.spread(2), 0);
  EXPECT_EQ(fit.slope_error(), 0);
}

TEST(LineFit, RecursiveResidualsHaveTheSpreadOfTheNoise) {
  LineFit fit;
  double squares = 0;
  for (std::uint64_t i = 1; i <= 20'000; ++i) {
    const double residual = fit.add(static_cast<double>(i), 3 * normal_of(5, 2, i));
    if (i > 2) squares += residual * residual;
  }
  EXPECT_NEAR(std::sqrt(squares / 19'998), 3, 0.05);
}

TEST(QuantileSketch, IsNearTheTrueQuantile) {
  QuantileSketch sketch(0.99);
  for (std::uint64_t i = 0; i < 100'000; ++i) sketch.add(normal_of(11, 0, i));
  EXPECT_NEAR(sketch.value(), 2.326, 0.08);
  QuantileSketch few(0.99);
  for (const double value : {3.0, 1.0, 2.0}) few.add(value);
  EXPECT_EQ(few.value(), 3);
  EXPECT_EQ(few.largest(), 3);
}

TEST(SeriesDigest, KeepsTheHighestOfEveryStretchInBoundedRoom) {
  for (const std::uint64_t count : {1U, 5U, 127U, 128U, 129U, 1000U, 100'000U}) {
    SeriesDigest digest;
    std::vector<double> values;
    for (std::uint64_t i = 1; i <= count; ++i) {
      values.push_back(uniform_of(count, 0, i));
      digest.add(static_cast<double>(i), values.back());
    }
    const auto points = digest.points();
    ASSERT_LT(points.size(), SeriesDigest::most_points);
    EXPECT_EQ(digest.highest(), *std::ranges::max_element(values));
    const auto stretch = static_cast<std::size_t>(digest.stretch());
    EXPECT_EQ(points.size(), values.size() / stretch);
    for (std::size_t p = 0; p < points.size(); ++p) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(p * stretch);
      EXPECT_EQ(points[p].highest,
                *std::max_element(first, first + static_cast<std::ptrdiff_t>(stretch)));
      EXPECT_DOUBLE_EQ(points[p].at,
                       static_cast<double>(p * stretch) + (static_cast<double>(stretch) + 1) / 2);
    }
  }
}

}  // namespace
}  // namespace cleave
