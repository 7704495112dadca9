#include "forecast/memory/quantile_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace cleave {

void QuantileSketch::add(double value) {
  largest_ = count_ == 0 ? value : std::max(largest_, value);
  if (count_ < 5) {
    heights_[static_cast<std::size_t>(count_++)] = value;
    std::ranges::sort(std::span(heights_).first(static_cast<std::size_t>(count_)));
    if (count_ == 5) places_ = {0, 1, 2, 3, 4};
    return;
  }
  ++count_;
  heights_[0] = std::min(heights_[0], value);
  heights_[4] = std::max(heights_[4], value);
  for (std::size_t i = 1; i < 5; ++i)
    if (i == 4 || value < heights_[i]) places_[i] += 1;
  const auto last = static_cast<double>(count_ - 1);
  const std::array<double, 5> wanted = {0, last * share_ / 2, last * share_,
                                        last * (1 + share_) / 2, last};
  for (std::size_t i = 1; i < 4; ++i) {
    const double off = wanted[i] - places_[i];
    if (!((off >= 1 && places_[i + 1] - places_[i] > 1) ||
          (off <= -1 && places_[i - 1] - places_[i] < -1)))
      continue;
    const double by = off > 0 ? 1 : -1;
    heights_[i] = moved(i, by);
    places_[i] += by;
  }
}

/// Along the parabola through the marker and its neighbours; along a line if that would pass one of
/// them.
double QuantileSketch::moved(std::size_t i, double by) const {
  const double before = places_[i] - places_[i - 1], after = places_[i + 1] - places_[i];
  const double rise = (heights_[i + 1] - heights_[i]) / after,
               fall = (heights_[i] - heights_[i - 1]) / before;
  const double height =
      heights_[i] + by / (before + after) * ((before + by) * rise + (after - by) * fall);
  if (heights_[i - 1] < height && height < heights_[i + 1]) return height;
  return heights_[i] + (by > 0 ? rise : -fall);
}

double QuantileSketch::value() const {
  if (count_ == 0) return 0;
  if (count_ >= 5) return heights_[2];
  const auto at = static_cast<std::size_t>(std::lround(share_ * static_cast<double>(count_ - 1)));
  return heights_[at];
}

}  // namespace cleave
