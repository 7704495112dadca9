#include "forecast/lagged_line.hpp"

#include <algorithm>

namespace cleave {

LaggedLine::LaggedLine(std::span<const double> x, std::span<const double> y)
    : count_(static_cast<double>(x.size() - 1)), x0_(x[0]), y0_(y[0]) {
  for (std::size_t i = 1; i < x.size(); ++i) {
    const double a = x[i] - x0_, b = x[i - 1] - x0_, c = y[i] - y0_, d = y[i - 1] - y0_;
    x_.now += a;
    x_.before += b;
    y_.now += c;
    y_.before += d;
    xx_ += a * a;
    xx_lag_ += a * b;
    xx_before_ += b * b;
    yy_ += c * c;
    yy_lag_ += c * d;
    yy_before_ += d * d;
    xy_ += a * c;
    xy_cross_ += a * d + b * c;
    xy_before_ += b * d;
  }
}

LaggedLine::Fit LaggedLine::fit(double correlation) const {
  const double r = correlation;
  const bool walk = r >= 1;
  // Sums of u = x - r (x before) and v = y - r (y before), and of their products.
  const double u = x_.now - r * x_.before, v = y_.now - r * y_.before;
  double uu = xx_ - 2 * r * xx_lag_ + r * r * xx_before_;
  double vv = yy_ - 2 * r * yy_lag_ + r * r * yy_before_;
  double uv = xy_ - r * xy_cross_ + r * r * xy_before_;
  const double raw = uu;
  if (!walk) {
    uu -= u * u / count_;
    vv -= v * v / count_;
    uv -= u * v / count_;
  }
  Fit fit;
  const bool sloped = uu > 1e-10 * raw;
  if (sloped) {
    fit.slope = uv / uu;
    fit.square = uu;
  }
  fit.residuals = std::max(0.0, vv - fit.slope * uv);
  fit.parameters = (walk ? 0 : 1) + (sloped ? 1 : 0);
  if (walk) return fit;
  fit.middle = u / count_ + (1 - r) * x0_;
  fit.level = (v - fit.slope * u) / count_ / (1 - r) + y0_ - fit.slope * x0_;
  return fit;
}

}  // namespace cleave
