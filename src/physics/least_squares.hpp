#pragma once
// Least squares for the laws of this room: a few parameters that all rows share, such as the times
// of slices, and a few of each group of rows, such as the costs of one application. The method is
// that of Levenberg and Marquardt with derivatives by central differences; since a row depends on
// its own group only, each group's parameters are eliminated first, and the cost grows with the
// number of groups and not with its cube. No randomness: same rows, same fit.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace cleave {

/// The values of all parameters.
struct Parameters {
  std::vector<double> shared;
  std::vector<std::vector<double>> own;  // of each group; their lengths may differ
};

/// Rows to be explained.
struct FitProblem {
  Parameters start;
  std::vector<std::size_t> group;  // of each row, an index into `start.own`
  /// What is left to explain of a row. Parameters should be of the order of 1, such as logarithms:
  /// derivatives are taken in steps of 1e-6.
  std::function<double(std::span<const double> shared, std::span<const double> own,
                       std::size_t row)>
      residual;
};

/// The parameters for which the sum of the squared residuals is least, near the start.
struct Fit {
  Parameters at;
  double squares = 0;
  std::size_t steps = 0;
};

[[nodiscard]] Fit least_squares(FitProblem problem);

/// A residual whose square is that of the soft L1 loss: as it is far below `scale`, but growing
/// with the root above it, so that a row that contradicts all others does not decide the fit.
[[nodiscard]] double softened(double residual, double scale);

/// The coefficients x for which |A x - y| is least; A has a row for each of `y`. Empty if the
/// columns do not determine them.
[[nodiscard]] std::optional<std::vector<double>> linear_fit(
    const std::vector<std::vector<double>>& rows, std::span<const double> y);

}  // namespace cleave
