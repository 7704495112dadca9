#include "simulate/advice/resampled.hpp"

#include <algorithm>
#include <numeric>

#include "base/format.hpp"
#include "base/random.hpp"

namespace cleave {

namespace {

constexpr Duration a_day = std::chrono::days{1};
constexpr std::int64_t fewest_days = 7;
constexpr std::size_t windows_of_less = 12;

/// The numbers of the batches by arrival.
std::vector<std::uint32_t> batches_of(const Workload& workload) {
  std::vector<std::uint32_t> batches;
  for (std::uint32_t job = 0; job < workload.jobs.size(); ++job)
    if (workload.kind_of(workload.jobs[job]) == JobKind::batch) batches.push_back(job);
  return batches;
}

/// Collects the jobs of a draw.
class Draw {
 public:
  explicit Draw(const Workload& recorded) : recorded_(recorded), taken_(recorded.jobs.size(), 0) {}

  /// The recording's job once more, then. Jobs that are drawn again get names of their own.
  void add(std::uint32_t job, Instant arrival) {
    Job& added = jobs_.emplace_back(recorded_.jobs[job]);
    added.arrival = arrival;
    if (const std::size_t again = taken_[job]++; again > 0)
      added.id += fmt::format("~{}", again + 1);
    source_.push_back(job);
  }

  [[nodiscard]] std::size_t jobs() const { return jobs_.size(); }

  /// By arrival; those alike in the order in which they were added.
  ResampledWorkload finish() {
    std::vector<std::size_t> order(jobs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return jobs_[i].arrival; });
    ResampledWorkload result{recorded_, {}};
    result.workload.jobs.clear();
    for (const std::size_t i : order) {
      result.workload.jobs.push_back(std::move(jobs_[i]));
      result.source.push_back(source_[i]);
    }
    return result;
  }

 private:
  const Workload& recorded_;
  std::vector<std::size_t> taken_;  // by job of the recording
  std::vector<Job> jobs_;
  std::vector<std::uint32_t> source_;
};

/// The batches of the window that begins at `from`, after the first arrival; after the last window
/// the first one follows. They arrive as if it began at `to`.
void add_window(const Workload& recorded, const std::vector<std::uint32_t>& batches,
                const BootstrapWindows& windows, Duration from, Duration to, Draw& draw) {
  const Instant begin = recorded.jobs[batches.front()].arrival;
  const Duration all = windows.length * static_cast<std::int64_t>(windows.count);
  const auto arrival = [&](std::uint32_t job) { return recorded.jobs[job].arrival; };
  const auto add = [&](Duration low, Duration high, Duration shift) {
    auto at = std::ranges::lower_bound(batches, begin + low, {}, arrival);
    for (; at != batches.end() && arrival(*at) < begin + high; ++at)
      draw.add(*at, arrival(*at) + shift);
  };
  add(from, std::min(from + windows.length, all), to - from);
  if (from + windows.length > all) add(Duration{}, from + windows.length - all, to - from + all);
}

/// As many windows as the recording has, or as many single jobs.
void add_batches(const Workload& recorded, const std::vector<std::uint32_t>& batches,
                 Random& random, Draw& draw) {
  const BootstrapWindows windows = windows_of(recorded);
  for (std::size_t i = 0; i < windows.count; ++i) {
    if (windows.length == Duration{}) {
      const std::uint32_t job = batches[random.below(batches.size())];
      draw.add(job, recorded.jobs[job].arrival);
      continue;
    }
    const auto all =
        static_cast<std::uint64_t>(windows.length.count()) * std::uint64_t{windows.count};
    const Duration from =
        windows.fixed_grid ? windows.length * static_cast<std::int64_t>(random.below(windows.count))
                           : Duration{static_cast<std::int64_t>(random.below(all))};
    add_window(recorded, batches, windows, from, windows.length * static_cast<std::int64_t>(i),
               draw);
  }
}

}  // namespace

BootstrapWindows windows_of(const Workload& workload) {
  const auto batches = batches_of(workload);
  if (batches.empty()) return {};
  const Duration span =
      workload.jobs[batches.back()].arrival - workload.jobs[batches.front()].arrival;
  if (span == Duration{}) return {batches.size(), Duration{}, false};
  if (const std::int64_t days = span / a_day + 1; days >= fewest_days)
    return {static_cast<std::size_t>(days), a_day, true};
  // One nanosecond more than their part, so that the last arrival is in the last window.
  return {windows_of_less, span / static_cast<std::int64_t>(windows_of_less) + Duration{1}, false};
}

ResampledWorkload resampled(const Workload& recorded, std::uint64_t seed) {
  const auto batches = batches_of(recorded);
  Random random(seed);
  Draw draw(recorded);
  for (std::uint32_t job = 0; job < recorded.jobs.size(); ++job)
    if (recorded.kind_of(recorded.jobs[job]) != JobKind::batch)
      draw.add(job, recorded.jobs[job].arrival);
  // Of few jobs far apart all windows may be empty ones: then once more.
  const std::size_t others = draw.jobs();
  while (!batches.empty() && draw.jobs() == others) add_batches(recorded, batches, random, draw);
  return draw.finish();
}

ResampledWorkload as_recorded(const Workload& recorded) {
  ResampledWorkload result{recorded, std::vector<std::uint32_t>(recorded.jobs.size())};
  std::iota(result.source.begin(), result.source.end(), 0U);
  return result;
}

}  // namespace cleave
