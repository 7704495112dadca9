#pragma once
// A line y = level + slope x whose errors hang together: each is `correlation` times the one
// before, and something new. Least squares of y - correlation * (y before) on x - correlation * (x
// before), as Cochrane and Orcutt (1949) have it, from sums that are taken once and serve every
// correlation.

#include <span>

namespace cleave {

class LaggedLine {
 public:
  /// Sums over values now and before, from the first on.
  struct Sums {
    double now = 0, before = 0;
    double square = 0, lag = 0, square_before = 0;  // now x now, now x before, before x before
  };
  static Sums sums_of(std::span<const double> values);

  /// At least three points.
  LaggedLine(std::span<const double> x, std::span<const double> y) : LaggedLine(x, y, sums_of(y)) {}
  /// `of_y` is sums_of(y): many lines through the same y share it.
  LaggedLine(std::span<const double> x, std::span<const double> y, const Sums& of_y);

  struct Fit {
    double level = 0, slope = 0;
    double residuals = 0;  // sum of the squares of what is new in each error
    double middle = 0;     // mean of the differences of x; 0 for a correlation of 1
    double square = 0;     // sum of their squares about that; 0 where the slope cannot be told
    int parameters = 0;    // what was fitted: level, slope
  };
  /// `correlation` from 0 to 1. At 1 the errors are a random walk: there is no level then, and it
  /// is 0.
  [[nodiscard]] Fit fit(double correlation) const;
  /// Differences that a fit is made of: one less than there are points.
  [[nodiscard]] double count() const { return count_; }

 private:
  double count_, x0_, y0_;  // the first point, from which all others are measured
  Sums x_, y_;
  double xy_ = 0, xy_cross_ = 0, xy_before_ = 0;
};

}  // namespace cleave
