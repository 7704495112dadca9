#include "forecast/memory/lagged_line.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.hpp"

namespace cleave {
namespace {

/// By the definition, in two passes over the differences.
LaggedLine::Fit by_definition(const std::vector<double>& x, const std::vector<double>& y,
                              double correlation) {
  std::vector<double> u, v;
  for (std::size_t i = 1; i < x.size(); ++i) {
    u.push_back(x[i] - correlation * x[i - 1]);
    v.push_back(y[i] - correlation * y[i - 1]);
  }
  const auto n = static_cast<double>(u.size());
  LaggedLine::Fit fit;
  double mean_v = 0;
  if (correlation < 1)
    for (std::size_t i = 0; i < u.size(); ++i) {
      fit.middle += u[i] / n;
      mean_v += v[i] / n;
    }
  double uv = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    fit.square += (u[i] - fit.middle) * (u[i] - fit.middle);
    uv += (u[i] - fit.middle) * (v[i] - mean_v);
  }
  fit.slope = uv / fit.square;
  const double level = mean_v - fit.slope * fit.middle;
  for (std::size_t i = 0; i < u.size(); ++i)
    fit.residuals += std::pow(v[i] - level - fit.slope * u[i], 2);
  if (correlation < 1) fit.level = level / (1 - correlation);
  return fit;
}

TEST(LaggedLine, EqualsItsDefinition) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const double level = 1000 * std::pow(100, uniform_of(seed, 0, 1)),
                 slope = level * (uniform_of(seed, 0, 2) - 0.3);
    const double noise = level * 0.01 * uniform_of(seed, 0, 3), from = 5 * uniform_of(seed, 0, 4);
    std::vector<double> x, y;
    const auto count = 4 + static_cast<std::uint64_t>(120 * uniform_of(seed, 0, 5));
    for (std::uint64_t i = 0; i < count; ++i) {
      x.push_back(from + static_cast<double>(i) / static_cast<double>(count));
      y.push_back(level + slope * x.back() + noise * normal_of(seed, 1, i));
    }
    const LaggedLine line(x, y);
    for (const double correlation : {0.0, 0.5, 0.9, 0.98, 1.0}) {
      const auto fit = line.fit(correlation), expected = by_definition(x, y, correlation);
      EXPECT_NEAR(fit.slope, expected.slope, 1e-6 * (std::abs(expected.slope) + noise));
      EXPECT_NEAR(fit.level, expected.level, 1e-6 * (std::abs(expected.level) + noise));
      EXPECT_NEAR(fit.residuals, expected.residuals, 1e-6 * expected.residuals + 1e-9 * level);
      EXPECT_NEAR(fit.square, expected.square, 1e-6 * expected.square);
      EXPECT_NEAR(fit.middle, expected.middle, 1e-9 * (std::abs(expected.middle) + 1));
      EXPECT_EQ(fit.parameters, correlation < 1 ? 2 : 1);
    }
  }
}

TEST(LaggedLine, ASlopeThatCannotBeToldIsNone) {
  const std::vector<double> x(10, 3.0);
  std::vector<double> y;
  for (std::uint64_t i = 0; i < 10; ++i) y.push_back(100 + normal_of(1, 1, i));
  const auto fit = LaggedLine(x, y).fit(0.5);
  EXPECT_EQ(fit.slope, 0);
  EXPECT_EQ(fit.square, 0);
  EXPECT_EQ(fit.parameters, 1);
  EXPECT_NEAR(fit.level, 100, 2);
}

}  // namespace
}  // namespace cleave
