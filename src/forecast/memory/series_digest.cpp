#include "forecast/memory/series_digest.hpp"

#include <algorithm>

namespace cleave {

void SeriesDigest::add(double iteration, double value) {
  highest_ = samples_ == 0 ? value : std::max(highest_, value);
  ++samples_;
  open_highest_ = open_ == 0 ? value : std::max(open_highest_, value);
  open_sum_ = open_ == 0 ? iteration : open_sum_ + iteration;
  if (++open_ < stretch_) return;
  points_[count_++] = {open_sum_ / static_cast<double>(open_), open_highest_};
  open_ = 0;
  if (count_ == most_points) merge();
}

void SeriesDigest::merge() {
  for (std::size_t i = 0; i < most_points / 2; ++i) {
    const Point &one = points_[2 * i], &other = points_[2 * i + 1];
    points_[i] = {(one.at + other.at) / 2, std::max(one.highest, other.highest)};
  }
  count_ = most_points / 2;
  stretch_ *= 2;
}

double SeriesDigest::spacing() const {
  if (count_ < 2) return 1;
  return (points_[count_ - 1].at - points_[0].at) / static_cast<double>(count_ - 1);
}

}  // namespace cleave
