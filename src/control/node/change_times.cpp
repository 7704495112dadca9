#include "control/node/change_times.hpp"

#include <algorithm>
#include <vector>

namespace cleave {

void ChangeTimes::hear(InstanceChange change, Duration expected, Duration took) {
  if (expected <= Duration{} || took <= Duration{}) return;
  std::deque<double>& factors = factors_[static_cast<std::size_t>(change)];
  factors.push_back(in_seconds(took) / in_seconds(expected));
  if (factors.size() > most) factors.pop_front();
}

std::optional<double> ChangeTimes::factor(InstanceChange change) const {
  std::vector<double> sorted(of(change).begin(), of(change).end());
  if (sorted.empty()) return std::nullopt;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  return *middle;
}

}  // namespace cleave
