#include "model/job.hpp"

#include <algorithm>

namespace cleave {

namespace {

/// Workloads name few different requests and speeds, mostly the one before: search from the end.
template <class Thing>
std::uint32_t intern_in(std::vector<Thing>& things, const Thing& thing) {
  const auto found = std::find(things.rbegin(), things.rend(), thing);
  if (found != things.rend()) return static_cast<std::uint32_t>(things.rend() - found - 1);
  things.push_back(thing);
  return static_cast<std::uint32_t>(things.size() - 1);
}

}  // namespace

std::uint32_t Workload::intern(const Request& request) {
  return intern_in(requests, request);
}
std::uint32_t Workload::intern(const SpeedModel& speed) {
  return intern_in(speeds, speed);
}

void Workload::sort() {
  std::ranges::stable_sort(jobs, {}, &Job::arrival);
}

}  // namespace cleave
