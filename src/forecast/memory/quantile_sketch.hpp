#pragma once
// A quantile of numbers that come one by one, in constant memory: the P2 algorithm of Jain and
// Chlamtac (1985). Exact for the first five numbers, then five markers that are moved along a
// parabola.

#include <array>
#include <cstdint>

namespace cleave {

/// The quantile so far.
class QuantileSketch {
 public:
  explicit QuantileSketch(double share) : share_(share) {}

  void add(double value);
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] double largest() const { return largest_; }
  /// 0 without numbers.
  [[nodiscard]] double value() const;

 private:
  [[nodiscard]] double moved(std::size_t marker, double by) const;

  double share_;
  std::int64_t count_ = 0;
  double largest_ = 0;
  std::array<double, 5> heights_{}, places_{};
};

}  // namespace cleave
