#include "forecast/memory/line_fit.hpp"

#include <cmath>

namespace cleave {

double LineFit::add(double x, double y) {
  const double residual = count_ < 2 ? 0 : (y - at(x)) / std::sqrt(1 + leverage(x));
  squared_residuals_ += residual * residual;
  ++count_;
  const auto n = static_cast<double>(count_);
  const double dx = x - mean_x_, dy = y - mean_y_;
  mean_x_ += dx / n;
  mean_y_ += dy / n;
  xx_ += dx * (x - mean_x_);
  xy_ += dx * (y - mean_y_);
  return residual;
}

double LineFit::spread(int divisor) const {
  const std::int64_t freedom = count_ - divisor;
  return freedom > 0 ? std::sqrt(squared_residuals_ / static_cast<double>(freedom)) : 0;
}

double LineFit::slope_error() const {
  return xx_ > 0 ? spread(2) / std::sqrt(xx_) : 0;
}

double LineFit::leverage(double x) const {
  if (count_ == 0) return 0;
  const double off = x - mean_x_;
  return 1 / static_cast<double>(count_) + (xx_ > 0 ? off * off / xx_ : 0);
}

}  // namespace cleave
