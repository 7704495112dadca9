#pragma once
// How often something took how long: a histogram whose bounds are a table. It only ever grows, so
// that two looks at it tell what happened between them.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.hpp"

namespace cleave {

/// Times, counted by their length.
class TimeCounts {
 public:
  /// `bounds_s`: the longest time of each count in seconds, ascending; longer ones have a count of
  /// their own. They must outlive it.
  explicit TimeCounts(std::span<const double> bounds_s)
      : bounds_s_(bounds_s), counts_(bounds_s.size() + 1) {}

  void add(Duration took) {
    const double seconds = std::max(0.0, in_seconds(took));
    const auto at = std::ranges::lower_bound(bounds_s_, seconds) - bounds_s_.begin();
    ++counts_[static_cast<std::size_t>(at)];
    ++count_;
    sum_s_ += seconds;
  }
  [[nodiscard]] std::span<const double> bounds_s() const { return bounds_s_; }
  /// One more than there are bounds; each is without those of shorter times.
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double sum_s() const { return sum_s_; }

 private:
  std::span<const double> bounds_s_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  double sum_s_ = 0;
};

}  // namespace cleave
