#include "cli/forecast/offload_estimate.hpp"

#include <algorithm>

#include "physics/offload.hpp"
#include "physics/speed_law.hpp"

namespace cleave::cli {

namespace {

/// The time of one unit of performance, by the law; empty where too little was measured.
std::optional<SliceLaw> law_of(const MeasuredQuestion& measured) {
  std::vector<KnownTime> known;
  for (const MeasuredInstance& each : measured.question.instances)
    if (const Profile* profile = measured.model->find(each.name);
        profile != nullptr && !each.offloaded)
      known.push_back({gpu_bound_time(*measured.model, *profile), 1 / each.performance});
  const auto fitted = fit_slice_law(known);
  return fitted ? std::optional(fitted->law) : std::nullopt;
}

/// The smallest instance on which it ran without offload; null where there is none.
const MeasuredInstance* next_size(const RewardQuestion& question) {
  const MeasuredInstance* least = nullptr;
  for (const MeasuredInstance& each : question.instances)
    if (!each.offloaded && (least == nullptr || each.capacity < least->capacity)) least = &each;
  return least;
}

}  // namespace

std::vector<OffloadEstimate> estimate_offload(const MeasuredQuestion& measured, MiB most,
                                              double touches) {
  std::vector<OffloadEstimate> estimates;
  const RewardQuestion& question = measured.question;
  const auto law = law_of(measured);
  const MeasuredInstance* next = next_size(question);
  if (!law || next == nullptr) return estimates;
  const MiB memory{static_cast<std::int64_t>(next->peak)};
  const double gpu_occupancy = next->instance_occupancy
                                   ? *next->instance_occupancy * next->sms / question.basis.gpu_sms
                                   : next->occupancy.value_or(0);
  const HostLink& link = host_link(*measured.model);
  for (const Profile& profile : measured.model->profiles) {
    const bool known = std::ranges::any_of(
        question.instances, [&](const auto& each) { return each.name == profile.name; });
    if (known || profile.attribute != Attribute::none || !profile.sms) continue;
    // The link's time for a unit of performance counts in seconds, as its performance does.
    const Offload job{memory, most, touches};
    const auto in_host = in_host_memory(job, profile.usable);
    if (!in_host || *in_host == MiB{0}) continue;
    const double resident_s = time_on(*law, gpu_bound_time(*measured.model, profile));
    const double crossing_s =
        offload_time(job, *in_host, link) / link.direct_share(profile.compute);
    OffloadEstimate estimate{{}, *in_host, (resident_s + crossing_s) / resident_s};
    MeasuredInstance& run = estimate.instance;
    run.name = profile.name;
    run.sms = profile.sms->value;
    run.capacity = run.peak = static_cast<double>(profile.usable->value);
    run.performance = 1 / (resident_s + crossing_s);
    run.occupancy = std::min(gpu_occupancy * run.performance / next->performance,
                             run.sms / question.basis.gpu_sms);
    run.offloaded = true;
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

}  // namespace cleave::cli
