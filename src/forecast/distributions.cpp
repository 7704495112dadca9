#include "forecast/distributions.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cleave {

double normal_below(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

double normal_quantile(double share) {
  // Hastings' approximation of the tail (Abramowitz and Stegun 26.2.23), then Newton's steps.
  const double tail = std::min(share, 1 - share);
  const double t = std::sqrt(-2 * std::log(tail));
  const double above =
      (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  double x = above - t;  // below zero: the tail is at most a half
  for (int i = 0; i < 3; ++i) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    if (density > 0) x -= (normal_below(x) - tail) / density;
  }
  return share <= 0.5 ? x : -x;
}

// Wallace's transformation of t to a normal deviate (Biometrika 46, 1959).
double student_below(double x, double freedom) {
  const double z = (8 * freedom + 1) / (8 * freedom + 3) * std::sqrt(freedom * std::log1p(x * x / freedom));
  return normal_below(std::copysign(z, x));
}

double student_quantile(double share, double freedom) {
  const double z = normal_quantile(share) * (8 * freedom + 3) / (8 * freedom + 1);
  return std::copysign(std::sqrt(freedom * std::expm1(z * z / freedom)), z);
}

// Blom's approximation of normal order statistics.
double mean_of_largest(double count) {
  const double n = std::max(1.0, count);
  // The tail 1 - share is what counts, and is exact where share itself is not.
  return -normal_quantile(0.625 / (n + 0.25));
}

double spread_of_largest(double count) {
  return 1 / (1 + 0.28 * std::log(std::max(1.0, count)));
}

}  // namespace cleave
