#include "physics/least_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"

namespace cleave {
namespace {

// y = exp(own) x^shared for five groups: the exponent is common to all of them.
TEST(LeastSquares, FindsWhatMadeTheRows) {
  Random random(1);
  std::vector<double> x, y;
  FitProblem problem;
  for (std::size_t group = 0; group < 5; ++group) {
    problem.start.own.push_back({0});
    for (int i = 0; i < 8; ++i) {
      x.push_back(1 + 9 * random.uniform());
      y.push_back(std::exp(static_cast<double>(group)) * std::pow(x.back(), 1.7));
      problem.group.push_back(group);
    }
  }
  problem.start.shared = {0};
  problem.residual = [&](std::span<const double> shared, std::span<const double> own,
                         std::size_t row) {
    return own[0] + shared[0] * std::log(x[row]) - std::log(y[row]);
  };
  const Fit fit = least_squares(problem);
  EXPECT_NEAR(fit.at.shared[0], 1.7, 1e-8);
  for (std::size_t group = 0; group < 5; ++group)
    EXPECT_NEAR(fit.at.own[group][0], static_cast<double>(group), 1e-8);
  EXPECT_LT(fit.squares, 1e-15);
}

TEST(LeastSquares, ParametersOnWhichNothingDependsStayNearTheStart) {
  FitProblem problem;
  problem.start = {{3}, {{1, 2}}};
  problem.group = {0, 0};
  problem.residual = [](std::span<const double>, std::span<const double> own, std::size_t row) {
    return own[0] - (row == 0 ? 4.0 : 6.0);
  };
  const Fit fit = least_squares(problem);
  EXPECT_NEAR(fit.at.own[0][0], 5, 1e-6);
  EXPECT_NEAR(fit.at.own[0][1], 2, 1e-6);
  EXPECT_NEAR(fit.at.shared[0], 3, 1e-6);
  EXPECT_NEAR(fit.squares, 2, 1e-9);
}

TEST(LeastSquares, NoNearbyPointIsBetter) {
  Random random(2);
  for (int round = 0; round < 20; ++round) {
    std::vector<double> x, y;
    FitProblem problem;
    for (int i = 0; i < 30; ++i) {
      x.push_back(1 + 4 * random.uniform());
      y.push_back(1 + x.back() * (1 + random.uniform()));
      problem.group.push_back(0);
    }
    problem.start.own = {{0, 0}};
    problem.residual = [&](std::span<const double>, std::span<const double> own, std::size_t row) {
      return softened(std::log((std::exp(own[0]) + std::exp(own[1]) * x[row]) / y[row]), 0.1);
    };
    const auto squares = [&](const std::vector<double>& own) {
      double sum = 0;
      for (std::size_t row = 0; row < x.size(); ++row)
        sum += std::pow(problem.residual({}, own, row), 2);
      return sum;
    };
    const Fit fit = least_squares(problem);
    for (const double aside : {-1e-3, 1e-3})
      for (const std::size_t i : {0U, 1U}) {
        std::vector<double> near = fit.at.own[0];
        near[i] += aside;
        EXPECT_GE(squares(near), fit.squares);
      }
  }
}

TEST(LeastSquares, SoftenedIsSquareNearZeroAndGrowsWithTheRootBeyond) {
  EXPECT_NEAR(softened(0.001, 0.1), 0.001, 1e-7);
  EXPECT_NEAR(softened(-0.001, 0.1), -0.001, 1e-7);
  EXPECT_NEAR(softened(40, 0.1) / softened(10, 0.1), 2, 0.01);
}

TEST(LinearFit, SolvesAndSaysWhatIsNotDetermined) {
  const std::vector<std::vector<double>> rows = {{1, 2, 4}, {1, 3, 7}, {1, 5, 5}, {1, 7, 7}};
  std::vector<double> y;
  for (const auto& row : rows) y.push_back(57 + 6.5 * row[1] + 4.2 * row[2]);
  const auto fit = linear_fit(rows, y);
  ASSERT_TRUE(fit);
  EXPECT_NEAR((*fit)[0], 57, 1e-9);
  EXPECT_NEAR((*fit)[1], 6.5, 1e-9);
  EXPECT_NEAR((*fit)[2], 4.2, 1e-9);
  EXPECT_FALSE(linear_fit({{1, 2}, {1, 2}, {1, 2}}, std::vector<double>{1, 2, 3}));
  EXPECT_FALSE(linear_fit({}, {}));
}

}  // namespace
}  // namespace cleave
