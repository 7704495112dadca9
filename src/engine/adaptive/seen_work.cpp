#include "engine/adaptive/seen_work.hpp"

#include <algorithm>

namespace cleave {

void SeenWork::add(double work_s) {
  if (recent_.size() == most) {
    sorted_.erase(std::ranges::lower_bound(sorted_, recent_.front()));
    recent_.pop_front();
  }
  recent_.push_back(work_s);
  sorted_.insert(std::ranges::upper_bound(sorted_, work_s), work_s);
  sum_from_.resize(sorted_.size() + 1);
  sum_from_.back() = 0;
  for (std::size_t i = sorted_.size(); i-- > 0;) sum_from_[i] = sum_from_[i + 1] + sorted_[i];
  mean_ = sum_from_.front() / static_cast<double>(sorted_.size());
}

double SeenWork::rest(double done_s) const {
  constexpr double doubt = 4;  // counts as this number of jobs
  const auto longer = std::ranges::upper_bound(sorted_, done_s);
  const auto count = static_cast<double>(sorted_.end() - longer);
  if (count == 0) return mean_;
  const double sum = sum_from_[static_cast<std::size_t>(longer - sorted_.begin())];
  return (sum - count * done_s + doubt * mean_) / (count + doubt);
}

}  // namespace cleave
