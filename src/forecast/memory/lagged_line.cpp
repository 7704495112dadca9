#include "forecast/memory/lagged_line.hpp"

#include <algorithm>

namespace cleave {

LaggedLine::Sums LaggedLine::sums_of(std::span<const double> values) {
  Sums sums;
  double before = 0;  // of the first point, to which all others are relative
  for (const double value : values.subspan(1)) {
    const double now = value - values[0];
    sums.now += now;
    sums.before += before;
    sums.square += now * now;
    sums.lag += now * before;
    sums.square_before += before * before;
    before = now;
  }
  return sums;
}

LaggedLine::LaggedLine(std::span<const double> x, std::span<const double> y, const Sums& of_y)
    : count_(static_cast<double>(x.size() - 1)), x0_(x[0]), y0_(y[0]), y_(of_y) {
  // All sums in one loop: each waits for its own last addition, and the others fill the time.
  Sums sums;
  double b = 0, d = 0, now = 0, cross = 0, before = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const double a = x[i] - x0_, c = y[i] - y0_;
    sums.now += a;
    sums.before += b;
    sums.square += a * a;
    sums.lag += a * b;
    sums.square_before += b * b;
    now += a * c;
    cross += a * d + b * c;
    before += b * d;
    b = a;
    d = c;
  }
  x_ = sums;
  xy_ = now;
  xy_cross_ = cross;
  xy_before_ = before;
}

LaggedLine::Fit LaggedLine::fit(double correlation) const {
  const double r = correlation;
  const bool walk = r >= 1;
  // Sums of u = x - r (x before) and v = y - r (y before), and of their products.
  const double u = x_.now - r * x_.before, v = y_.now - r * y_.before;
  double uu = x_.square - 2 * r * x_.lag + r * r * x_.square_before;
  double vv = y_.square - 2 * r * y_.lag + r * r * y_.square_before;
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
