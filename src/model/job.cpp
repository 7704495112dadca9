#include "model/job.hpp"

#include <algorithm>
#include <cmath>

namespace cleave {

namespace {

template <class Thing>
std::uint32_t intern_in(std::vector<Thing>& things, std::map<Thing, std::uint32_t>& numbers,
                        const Thing& thing) {
  const auto [entry, fresh] = numbers.try_emplace(thing, static_cast<std::uint32_t>(things.size()));
  if (fresh) things.push_back(thing);
  return entry->second;
}

}  // namespace

double time_on(const SliceLaw& law, double gpu_bound) {
  const double bound = law.bound * gpu_bound;
  const double longer = std::max(law.fixed, bound), shorter = std::min(law.fixed, bound);
  if (!(shorter > 0)) return longer;
  return longer * std::pow(1 + std::pow(shorter / longer, law.overlap), 1 / law.overlap);
}

double gpu_hours(const Request& request, Duration duration) {
  const auto* const share = std::get_if<ByShare>(&request.wanted);
  const double each = share != nullptr ? share->thousandths / 1000.0 : 1;
  return each * request.places * in_seconds(duration) / 3600;
}

std::uint32_t Workload::intern(const Request& request) {
  return intern_in(requests, request_numbers_, request);
}
std::uint32_t Workload::intern(const SpeedModel& speed) {
  return intern_in(speeds, speed_numbers_, speed);
}

bool Workload::has_kinds() const {
  return std::ranges::any_of(
      details, [](const JobDetails& each) { return cleave::kind_of(&each) != JobKind::batch; });
}

void Workload::sort() {
  if (std::ranges::is_sorted(jobs, {}, &Job::arrival)) return;
  std::ranges::stable_sort(jobs, {}, &Job::arrival);
}

}  // namespace cleave
