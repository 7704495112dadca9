#include "forecast/memory/distributions.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace cleave {

double normal_below(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

namespace {

/// The value that a normal draw exceeds with a given probability of at most a half: Hastings'
/// approximation (Abramowitz and Stegun 26.2.23), exact to 5e-4.
double tail_quantile(double tail) {
  const double t = std::sqrt(-2 * std::log(tail));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

}  // namespace

double normal_quantile(double share) {
  // Refined by Newton's steps.
  const double tail = std::min(share, 1 - share);
  double x = -tail_quantile(tail);
  for (int i = 0; i < 3; ++i) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    if (density > 0) x -= (normal_below(x) - tail) / density;
  }
  return share <= 0.5 ? x : -x;
}

// Wallace's transformation of t to a normal deviate (Biometrika 46, 1959).
double student_below(double x, double freedom) {
  const double z =
      (8 * freedom + 1) / (8 * freedom + 3) * std::sqrt(freedom * std::log1p(x * x / freedom));
  return normal_below(std::copysign(z, x));
}

StudentCurve::StudentCurve(double freedom) : freedom_(freedom) {
  // Beyond this many normal deviates the result no longer changes.
  constexpr double last_deviate = 4.5;
  const double z = last_deviate * (8 * freedom + 3) / (8 * freedom + 1);
  reach_ = std::sqrt(freedom * std::expm1(z * z / freedom));
  steps_in_one_ = steps / (2 * reach_);
  for (std::size_t i = 0; i < below_.size(); ++i)
    below_[i] = student_below(static_cast<double>(i) / steps_in_one_ - reach_, freedom);
}

double StudentCurve::below(double x) const {
  if (x >= reach_) return 1;
  if (x <= -reach_) return 0;
  if (freedom_ < least_freedom) return student_below(x, freedom_);
  const double at = (x + reach_) * steps_in_one_;
  const auto place = static_cast<std::size_t>(at);
  return below_[place] + (at - static_cast<double>(place)) * (below_[place + 1] - below_[place]);
}

const StudentCurve& student_curve(std::size_t freedom) {
  static const std::vector<StudentCurve> curves = [] {
    std::vector<StudentCurve> all;
    for (std::size_t each = 1; each <= most_curves; ++each)
      all.emplace_back(static_cast<double>(each));
    return all;
  }();
  return curves[std::clamp<std::size_t>(freedom, 1, most_curves) - 1];
}

double student_quantile(double share, double freedom) {
  const double z = normal_quantile(share) * (8 * freedom + 3) / (8 * freedom + 1);
  return std::copysign(std::sqrt(freedom * std::expm1(z * z / freedom)), z);
}

// Blom's approximation of normal order statistics.
double mean_of_largest(double count) {
  if (count <= 1) return 0;
  // Blom's approximation is itself off by a hundredth, so no Newton steps are needed.
  return tail_quantile(0.625 / (count + 0.25));
}

double spread_of_largest(double count) {
  return 1 / (1 + 0.28 * std::log(std::max(1.0, count)));
}

}  // namespace cleave
