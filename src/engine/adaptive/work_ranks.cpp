#include "engine/adaptive/work_ranks.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cleave {

void WorkRanks::set(std::vector<double> rests_s, std::size_t gpus) {
  sorted_ = std::move(rests_s);
  std::ranges::sort(sorted_);
  gpus_ = static_cast<double>(std::max<std::size_t>(1, gpus));
}

double WorkRanks::weight(double rest_s) const {
  const auto as_long = sorted_.end() - std::ranges::lower_bound(sorted_, rest_s);
  const double on_a_gpu = std::max(1.0, static_cast<double>(as_long) / gpus_);
  return std::pow(2 * on_a_gpu - 1, 0.25) / std::sqrt(rest_s);
}

}  // namespace cleave
