#pragma once
// The normal distribution and Student's, as far as forecasts need them.

namespace cleave {

inline constexpr double two_sided_99 = 2.575829303548901;   // 99 % lie between minus and plus this
inline constexpr double one_sided_99 = 2.3263478740408408;  // 99 % lie below this

[[nodiscard]] double normal_below(double x);
/// Inverse of `normal_below`; 0 < share < 1. Exact to about 1e-9.
[[nodiscard]] double normal_quantile(double share);
/// Share of Student's t below x, exact to about 1e-3; `freedom` is at least 1.
[[nodiscard]] double student_below(double x, double freedom);
/// Quantile of Student's t, exact to a few parts in a hundred from 3 degrees on and better with more.
[[nodiscard]] double student_quantile(double share, double freedom);

/// What the largest of `count` standard normal draws comes to, in the mean, and its spread.
[[nodiscard]] double mean_of_largest(double count);
[[nodiscard]] double spread_of_largest(double count);

}  // namespace cleave
