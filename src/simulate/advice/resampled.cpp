#include "simulate/advice/resampled.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/format.hpp"
#include "base/random.hpp"
#include "model/start_order.hpp"

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
  explicit Draw(const Workload& recorded)
      : recorded_(recorded),
        in_order_(std::ranges::any_of(
            recorded.details,
            [](const JobDetails& details) { return details.start != StartTerms(); })),
        taken_(recorded.jobs.size(), 0) {}

  /// What is added from now on is of another window.
  void begin_window() { ++window_; }

  /// The recording's job once more, then. Jobs that are drawn again get names of their own.
  void add(std::uint32_t job, Instant arrival) {
    Job& added = jobs_.emplace_back(recorded_.jobs[job]);
    added.arrival = arrival;
    if (const std::size_t again = taken_[job]++; again > 0)
      added.id += fmt::format("~{}", again + 1);
    source_.push_back(job);
    if (in_order_) windows_.push_back(window_);
  }

  [[nodiscard]] std::size_t jobs() const { return jobs_.size(); }

  /// By arrival; those alike in the order in which they were added.
  ResampledWorkload finish() {
    std::vector<std::size_t> order(jobs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return jobs_[i].arrival; });
    ResampledWorkload result{recorded_, {}};
    if (in_order_) keep_order(result.workload);
    result.workload.jobs.clear();
    for (const std::size_t i : order) {
      result.workload.jobs.push_back(std::move(jobs_[i]));
      result.source.push_back(source_[i]);
    }
    return result;
  }

 private:
  /// Jobs wait for those of their window, and take turns there; others are as if they had ended.
  void keep_order(Workload& workload) {
    std::map<std::pair<std::string_view, std::size_t>, std::vector<std::size_t>> drawn;
    std::map<std::pair<std::string_view, std::size_t>, bool> arrays;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      drawn[{recorded_.jobs[source_[i]].id, windows_[i]}].push_back(i);
      if (const JobDetails* details = recorded_.details_of(jobs_[i]))
        arrays[{details->start.task_of, windows_[i]}] = true;
    }
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const JobDetails* details = recorded_.details_of(jobs_[i]);
      if (details == nullptr || details->start == StartTerms()) continue;
      JobDetails here = *details;
      here.start.after.clear();
      for (const std::string& text : details->start.after) {
        const auto colon = text.find(':') + 1;
        const std::string_view name = std::string_view(text).substr(colon);
        const auto found = drawn.find({name, windows_[i]});
        if (found != drawn.end())
          here.start.after.push_back(text.substr(0, colon) + jobs_[found->second.front()].id);
        else if (arrays.contains({name, windows_[i]}))
          here.start.after.push_back(fmt::format("{}~{}", text, windows_[i]));
      }
      if (!here.start.task_of.empty()) here.start.task_of += fmt::format("~{}", windows_[i]);
      jobs_[i].details = static_cast<std::uint32_t>(workload.details.size());
      workload.details.push_back(std::move(here));
    }
  }

  const Workload& recorded_;
  const bool in_order_;  // jobs wait for one another
  std::size_t window_ = 0;
  std::vector<std::size_t> windows_;  // by job, where they do
  std::vector<std::size_t> taken_;    // by job of the recording
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
    draw.begin_window();
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
