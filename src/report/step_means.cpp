#include "report/step_means.hpp"

#include <algorithm>

namespace cleave::report {

void StepMeans::widen() {
  for (std::size_t i = 0; i < sums_.size(); i += 2)
    sums_[i / 2] = sums_[i] + (i + 1 < sums_.size() ? sums_[i + 1] : 0);
  sums_.resize((sums_.size() + 1) / 2);
  width_ *= 2;
}

void StepMeans::add(Duration begin, Duration end, double value) {
  if (end <= begin) return;
  while (static_cast<std::size_t>((end.count() - 1) / width_.count()) >= most_) widen();
  if (value == 0) return;
  const auto part_of = [&](Duration at) {
    return static_cast<std::size_t>(at.count() / width_.count());
  };
  const std::size_t last = part_of(end - Duration(1));
  if (sums_.size() <= last) sums_.resize(last + 1);
  for (std::size_t i = part_of(begin); i <= last; ++i) {
    const Duration from = width_ * static_cast<std::int64_t>(i);
    sums_[i] += value * in_seconds(std::min(end, from + width_) - std::max(begin, from));
  }
}

std::vector<double> StepMeans::means(Duration width, Duration end) const {
  if (end <= Duration::zero()) return {};
  const auto parts = static_cast<std::size_t>((end.count() - 1) / width.count()) + 1;
  std::vector<double> means(parts);
  const auto each = static_cast<std::size_t>(width.count() / width_.count());
  for (std::size_t i = 0; i < sums_.size() && i / each < parts; ++i) means[i / each] += sums_[i];
  for (std::size_t i = 0; i < parts; ++i) {
    const Duration from = width * static_cast<std::int64_t>(i);
    means[i] /= in_seconds(std::min(width, end - from));
  }
  return means;
}

}  // namespace cleave::report
