#include "simulate/advice/speed_range.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "physics/speed.hpp"
#include "simulate/advice/assumed_speeds.hpp"

namespace cleave {

namespace {

bool takes_whole_gpu(const Request& request) {
  const auto* const share = std::get_if<ByShare>(&request.wanted);
  return std::holds_alternative<WholeGpu>(request.wanted) ||
         (share != nullptr && share->thousandths == 1000);
}

bool is_unknown(const Workload& workload, const Job& job) {
  return workload.kind_of(job) == JobKind::batch && speed_is_unknown(workload.speeds[job.speed]) &&
         !takes_whole_gpu(workload.requests[job.request]);
}

/// " (0.14 of the whole GPU's on 1g.5gb)", of the fleet's first model.
std::string smallest_by_sms(const FleetFile& fleet) {
  const Geometry& geometry = fleet.geometries.front();
  const Profile* smallest = nullptr;
  for (const Profile* profile : geometry.profile_list())
    if (profile->attribute == Attribute::none && !profile->double_memory) smallest = profile;
  const auto speed =
      smallest == nullptr ? std::nullopt : speed_on(SpeedModel{}, geometry.model(), *smallest);
  if (!speed) return "";
  return fmt::format(" ({:.2f} of the whole GPU's speed on {})", speed->relative, smallest->name);
}

}  // namespace

AssumedCounts count_assumed(const Workload& workload) {
  AssumedCounts counts;
  for (const Job& job : workload.jobs) {
    if (workload.kind_of(job) != JobKind::batch) continue;
    ++counts.jobs;
    if (takes_whole_gpu(workload.requests[job.request]))
      ++counts.whole;
    else if (is_unknown(workload, job))
      ++counts.unknown;
    else if (workload.speeds[job.speed].flat)
      ++counts.one_time;
  }
  return counts;
}

Workload with_assumed(Workload workload, SpeedEnd assumed) {
  if (assumed == SpeedEnd::by_sms) return workload;
  for (Job& job : workload.jobs) {
    if (!is_unknown(workload, job)) continue;
    SpeedModel speed = workload.speeds[job.speed];
    if (assumed == SpeedEnd::flat)
      speed.flat = true;
    else
      speed.law = law_of(AssumedSpeed::between);
    job.speed = workload.intern(speed);
  }
  return workload;
}

std::string assumed_text(const AssumedCounts& counts, const FleetFile& fleet) {
  std::string text;
  if (counts.unknown > 0)
    text += fmt::format(
        "assumed: of {} of {} no speed on slices is known; it follows their SMs{},\n"
        "  the worst that slices can do to them; below the table is what other assumptions give\n",
        counts.unknown, counted(counts.jobs, "job"), smallest_by_sms(fleet));
  if (counts.one_time > 0)
    text += fmt::format(
        "assumed: of {} of {} one time is known; they take it on every instance that holds them\n",
        counts.one_time, counted(counts.jobs, "job"));
  if (counts.jobs > 0 && counts.whole == counts.jobs)
    text +=
        "every job asks for whole GPUs: MIG can gain nothing with these, and schedulers differ "
        "only in\n  their order\n";
  return text;
}

}  // namespace cleave
