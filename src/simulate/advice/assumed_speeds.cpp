#include "simulate/advice/assumed_speeds.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "model/gpu_use.hpp"
#include "physics/slice_law.hpp"

namespace cleave {

namespace {

/// The GPU-bound part of a job's time on the whole GPU. `between` is near the middle of what was
/// measured of training and inference (physics/measured_speeds.hpp), where the smallest slice of an
/// A100 has 0.15 to 0.9 of the speed.
double bound_of(AssumedSpeed assumed) {
  switch (assumed) {
    case AssumedSpeed::between:
      return 0.4;
    case AssumedSpeed::fills_gpu:
      return 1;
    case AssumedSpeed::uses_a_part:
      break;
  }
  return 0.1;
}

std::string_view assumption_words(AssumedSpeed assumed) {
  switch (assumed) {
    case AssumedSpeed::between:
      return "half-way";
    case AssumedSpeed::fills_gpu:
      return "fill the GPU";
    case AssumedSpeed::uses_a_part:
      break;
  }
  return "use a part of the GPU";
}

/// The last in the order from large to small that has nothing special; null where there is none.
const Profile* smallest_plain(const Geometry& geometry) {
  const Profile* smallest = nullptr;
  for (const Profile* profile : geometry.profile_list())
    if (profile->attribute == Attribute::none && !profile->double_memory) smallest = profile;
  return smallest;
}

/// What it takes on the whole GPU what took `seen` there.
Duration on_whole_gpu(Duration seen, const RanOn& there, const SliceLaw& law) {
  if (there.profile == nullptr) return seen;
  const double longer = time_on(law, gpu_bound_time(*there.model, *there.profile));
  return Duration{std::llround(static_cast<double>(seen.count()) / longer)};
}

}  // namespace

SliceLaw law_of(AssumedSpeed assumed) {
  return law_of_bound(bound_of(assumed));
}

std::string in_words(AssumedSpeed assumed, const Geometry& geometry) {
  const Profile* smallest = smallest_plain(geometry);
  if (smallest == nullptr) return std::string(assumption_words(assumed));
  return fmt::format("{} ({:.2f} of its speed on {})", assumption_words(assumed),
                     1 / time_on(law_of(assumed), gpu_bound_time(geometry.model(), *smallest)),
                     smallest->name);
}

bool speed_is_unknown(const SpeedModel& speed) {
  return !speed.table && !speed.phases && !speed.law && !speed.flat;
}

std::string application_of(const Workload& workload, const Job& job) {
  const JobDetails* details = workload.details_of(job);
  if (details != nullptr && details->application) return *details->application;
  // "train-12~2" is the same job once more (resampled.hpp).
  std::string_view name = job.id;
  name = name.substr(0, name.find('~'));
  const std::size_t last = name.find_last_not_of("0123456789");
  if (last == std::string_view::npos) return "all";
  name = name.substr(0, last + 1);
  const std::size_t end = name.find_last_not_of("-_.#:");
  return std::string(end == std::string_view::npos ? name : name.substr(0, end + 1));
}

Workload with_speeds(Workload workload, const std::vector<RanOn>& ran_on,
                     const SpeedAssumption& assumption) {
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    Job& job = workload.jobs[i];
    if (workload.kind_of(job) != JobKind::batch) continue;
    SpeedModel speed = workload.speeds[job.speed];
    if (!speed_is_unknown(speed)) continue;
    AssumedSpeed assumed = assumption.of_others;
    if (!assumption.of_application.empty()) {
      const auto named = assumption.of_application.find(application_of(workload, job));
      if (named != assumption.of_application.end()) assumed = named->second;
    }
    speed.law = law_of(assumed);
    if (!ran_on.empty()) job.duration = on_whole_gpu(job.duration, ran_on[i], *speed.law);
    job.speed = workload.intern(speed);
  }
  return workload;
}

std::vector<UnmeasuredApplication> unmeasured(const Workload& workload) {
  std::map<std::string, UnmeasuredApplication> by_name;
  double all = 0;
  for (const Job& job : workload.jobs) {
    if (workload.kind_of(job) != JobKind::batch) continue;
    const double hours = in_seconds(job.duration) / 3600 * workload.requests[job.request].places;
    all += hours;
    if (!speed_is_unknown(workload.speeds[job.speed])) continue;
    UnmeasuredApplication& application = by_name[application_of(workload, job)];
    ++application.jobs;
    application.gpu_hours += hours;
  }
  std::vector<UnmeasuredApplication> applications;
  for (auto& [name, application] : by_name) {
    application.name = name;
    application.share = all > 0 ? application.gpu_hours / all : 0;
    applications.push_back(std::move(application));
  }
  std::ranges::stable_sort(applications, std::greater(), &UnmeasuredApplication::gpu_hours);
  return applications;
}

}  // namespace cleave
