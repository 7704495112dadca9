#pragma once
// A line y = level + slope x with correlated errors: each is `correlation` times the previous one,
// plus something new. Fitted by least squares of y - correlation * (previous y) on x - correlation
// * (previous x), after Cochrane and Orcutt (1949), from sums that are computed once and serve
// every correlation.

#include <span>

namespace cleave {

/// The sums of one series, from which lines are fitted.
class LaggedLine {
 public:
  /// Sums over present and previous values, from the first point on.
  struct Sums {
    double now = 0, before = 0;
    double square = 0, lag = 0, square_before = 0;  // now x now, now x before, before x before
  };
  static Sums sums_of(std::span<const double> values);

  /// At least three points.
  LaggedLine(std::span<const double> x, std::span<const double> y) : LaggedLine(x, y, sums_of(y)) {}
  /// `of_y` is sums_of(y); many lines through the same y share it.
  LaggedLine(std::span<const double> x, std::span<const double> y, const Sums& of_y);

  /// A fitted line, with what its uncertainty depends on.
  struct Fit {
    double level = 0, slope = 0;
    double residuals = 0;  // sum of the squares of the new parts of the errors
    double middle = 0;     // mean of the differences of x; 0 for a correlation of 1
    double square = 0;   // sum of their squares about the mean; 0 if the slope cannot be determined
    int parameters = 0;  // how many were fitted: level, slope
  };
  /// `correlation` from 0 to 1. At 1 the errors are a random walk: there is no level, and it is 0.
  [[nodiscard]] Fit fit(double correlation) const;
  /// Number of differences in a fit: one less than there are points.
  [[nodiscard]] double count() const { return count_; }

 private:
  double count_, x0_, y0_;  // the first point, to which all others are relative
  Sums x_, y_;
  double xy_ = 0, xy_cross_ = 0, xy_before_ = 0;
};

}  // namespace cleave
