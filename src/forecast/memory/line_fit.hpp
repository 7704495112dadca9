#pragma once
// A straight line through points that come one by one, by ordinary least squares, in constant
// memory and time for each point. Sums are kept about the running means, and the sum of squared
// residuals grows by the square of each point's recursive residual (Brown, Durbin and Evans 1975),
// so large numbers are never subtracted from each other: accurate over many millions of points far
// from zero.

#include <cstdint>

namespace cleave {

/// The line through the points so far.
class LineFit {
 public:
  /// `x` must rise. Returns the recursive residual: how far the line so far missed the point, in
  /// units in which every residual of a true line has the noise's own spread; 0 for the first two
  /// points.
  double add(double x, double y);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] double mean() const { return mean_y_; }
  [[nodiscard]] double intercept() const { return mean_y_ - slope() * mean_x_; }
  [[nodiscard]] double slope() const { return xx_ > 0 ? xy_ / xx_ : 0; }
  [[nodiscard]] double at(double x) const { return mean_y_ + slope() * (x - mean_x_); }
  [[nodiscard]] double squared_residuals() const { return squared_residuals_; }
  /// Spread of the residuals: the root of their sum of squares over count - `divisor`; 0 if that is
  /// not positive.
  [[nodiscard]] double spread(int divisor) const;
  /// Standard error of the slope; 0 with fewer than three points.
  [[nodiscard]] double slope_error() const;
  /// Variance of the line at `x` in units of the noise's variance.
  [[nodiscard]] double leverage(double x) const;

 private:
  std::int64_t count_ = 0;
  double mean_x_ = 0, mean_y_ = 0;
  double xx_ = 0, xy_ = 0;  // sums of products about the means
  double squared_residuals_ = 0;
};

}  // namespace cleave
