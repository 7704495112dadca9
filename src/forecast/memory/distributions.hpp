#pragma once
// The normal distribution and Student's t, as far as forecasts need them.

#include <array>
#include <cstddef>

namespace cleave {

inline constexpr double two_sided_99 = 2.575829303548901;   // 99 % lie between minus and plus this
inline constexpr double one_sided_99 = 2.3263478740408408;  // 99 % lie below this

[[nodiscard]] double normal_below(double x);
/// Inverse of `normal_below`; 0 < share < 1. Exact to about 1e-9.
[[nodiscard]] double normal_quantile(double share);
/// Share of Student's t below x, exact to about 1e-3; `freedom` is at least 1.
[[nodiscard]] double student_below(double x, double freedom);

/// The same for one number of degrees of freedom, for repeated use: a table with linear
/// interpolation, exact to another 2e-4.
class StudentCurve {
 public:
  explicit StudentCurve(double freedom);
  [[nodiscard]] double below(double x) const;

 private:
  static constexpr std::size_t steps = 512;
  static constexpr double least_freedom = 6;  // with fewer the tails are too long for a table
  double freedom_, reach_ = 0, steps_in_one_ = 0;
  std::array<double, steps + 2> below_{};
};
/// For 1 to `most_curves` degrees of freedom; with more, `most_curves` is as good.
inline constexpr std::size_t most_curves = 128;
[[nodiscard]] const StudentCurve& student_curve(std::size_t freedom);

/// Quantile of Student's t, exact to a few parts in a hundred from 3 degrees on and better with
/// more.
[[nodiscard]] double student_quantile(double share, double freedom);

/// Mean and spread of the largest of `count` standard normal draws.
[[nodiscard]] double mean_of_largest(double count);
[[nodiscard]] double spread_of_largest(double count);

}  // namespace cleave
