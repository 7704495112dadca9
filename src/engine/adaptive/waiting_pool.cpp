#include "engine/adaptive/waiting_pool.hpp"

#include <algorithm>

namespace cleave {

void WaitingPool::insert(JobId job, std::int64_t priority, double value, bool rest_known,
                         std::uint64_t waits_from) {
  const Known known{{~priority, -value, job}, rest_known, waits_from};
  (rest_known ? known_ : unknown_).insert(known.place);
  by_age_.emplace(waits_from, job);
  places_.emplace(job, known);
}

void WaitingPool::erase(JobId job) {
  const auto found = places_.find(job);
  if (found == places_.end()) return;
  (found->second.rest_known ? known_ : unknown_).erase(found->second.place);
  by_age_.erase({found->second.waits_from, job});
  places_.erase(found);
}

std::optional<std::pair<std::uint64_t, JobId>> WaitingPool::eldest() const {
  if (by_age_.empty()) return std::nullopt;
  return *by_age_.begin();
}

std::vector<JobId> WaitingPool::since(std::uint64_t then) const {
  std::vector<JobId> jobs;
  for (const auto& [from, job] : by_age_) {
    if (from > then) break;
    jobs.push_back(job);
  }
  return jobs;
}

std::int64_t WaitingPool::highest_priority() const {
  std::int64_t highest = INT64_MIN;
  for (const auto* of : {&known_, &unknown_})
    if (!of->empty()) highest = std::max(highest, ~std::get<0>(*of->begin()));
  return highest;
}

std::int64_t WaitingPool::lowest_priority() const {
  std::int64_t lowest = INT64_MAX;
  for (const auto* of : {&known_, &unknown_})
    if (!of->empty()) lowest = std::min(lowest, ~std::get<0>(*of->rbegin()));
  return lowest;
}

std::vector<JobId> WaitingPool::first(std::size_t most, double weight) const {
  std::vector<JobId> jobs;
  auto a = known_.begin(), b = unknown_.begin();
  const auto of_unknown = [&] {
    const auto& [priority, value, job] = *b;
    return Place{priority, value * weight, job};
  };
  while (jobs.size() < most && (a != known_.end() || b != unknown_.end())) {
    if (b == unknown_.end() || (a != known_.end() && *a < of_unknown())) {
      jobs.push_back(std::get<2>(*a++));
    } else {
      jobs.push_back(std::get<2>(*b++));
    }
  }
  return jobs;
}

}  // namespace cleave
