#include "cli/forecast/run_estimate.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "physics/offload.hpp"

namespace cleave::cli {

namespace {

/// What was measured without offload, as a table of speeds in units of performance.
SpeedTable table_of(const MeasuredQuestion& measured) {
  SpeedTable table;
  for (const MeasuredInstance& each : measured.question.instances)
    if (!each.offloaded) table[each.name] = each.performance;
  return table;
}

/// The smallest instance on which it ran without offload; null where there is none.
const MeasuredInstance* next_size(const RewardQuestion& question) {
  const MeasuredInstance* least = nullptr;
  for (const MeasuredInstance& each : question.instances)
    if (!each.offloaded && (least == nullptr || each.capacity < least->capacity)) least = &each;
  return least;
}

bool is_measured(const RewardQuestion& question, const Profile& profile) {
  return std::ranges::any_of(question.instances,
                             [&](const auto& each) { return each.name == profile.name; });
}

/// A run on the profile that takes `seconds` for a unit of performance.
MeasuredInstance run_on(const Profile& profile, double seconds, const MeasuredInstance& next,
                        double gpu_sms) {
  const double gpu_occupancy = next.instance_occupancy
                                   ? *next.instance_occupancy * next.sms / gpu_sms
                                   : next.occupancy.value_or(0);
  MeasuredInstance run;
  run.name = profile.name;
  run.sms = profile.sms->value;
  run.capacity = static_cast<double>(profile.usable->value);
  run.peak = next.peak;
  run.performance = 1 / seconds;
  run.occupancy = std::min(gpu_occupancy * run.performance / next.performance, run.sms / gpu_sms);
  return run;
}

}  // namespace

namespace {

/// Fails where the law is too far from what was measured.
Result<void> described(double worst, std::string_view option) {
  if (follows_law(worst)) return {};
  return fail(ErrorKind::infeasible, "",
              fmt::format("it does not follow the law of slices, which misses what was measured "
                          "by {}",
                          misfit_text(worst)),
              fmt::format("check the measurements, or leave {} out and choose among what was "
                          "measured",
                          option));
}

}  // namespace

Result<std::vector<RunEstimate>> estimate_others(const MeasuredQuestion& measured) {
  const auto times = complete_times(table_of(measured), *measured.model);
  if (!times) return std::unexpected(times.error());
  const double worst = times->job.worst;
  if (const auto fits = described(worst, "--complete"); !fits) return std::unexpected(fits.error());
  const MeasuredInstance* next = next_size(measured.question);
  std::vector<RunEstimate> estimates;
  for (const ProfileTime& each : times->profiles) {
    const Profile& profile = *each.profile;
    if (is_measured(measured.question, profile) || !profile.sms || !profile.usable) continue;
    RunEstimate estimate;
    estimate.instance = run_on(profile, each.time, *next, measured.question.basis.gpu_sms);
    estimate.basis = each.basis;
    estimate.worst = worst;
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

Result<std::vector<RunEstimate>> estimate_offload(const MeasuredQuestion& measured, MiB most,
                                                  double touches) {
  std::vector<RunEstimate> estimates;
  const RewardQuestion& question = measured.question;
  const auto fitted = fitted_job(table_of(measured), *measured.model);
  const MeasuredInstance* next = next_size(question);
  if (!fitted)
    return fail(ErrorKind::infeasible, "",
                "fewer than two profiles of different size were measured",
                "measure it on another size, so that its times elsewhere follow");
  if (const auto fits = described(fitted->worst, "--offload"); !fits)
    return std::unexpected(fits.error());
  if (next == nullptr) return estimates;
  const Profile* too_small = nullptr;  // the largest of them
  const MiB memory{static_cast<std::int64_t>(next->peak)};
  const HostLink& link = host_link(*measured.model);
  for (const Profile& profile : measured.model->profiles) {
    if (is_measured(question, profile) || profile.attribute != Attribute::none || !profile.sms)
      continue;
    // The link's time for a unit of performance counts in seconds, as its performance does.
    const Offload job{memory, most, touches};
    const auto in_host = in_host_memory(job, profile.usable);
    if (!in_host && profile.usable &&
        (too_small == nullptr || *profile.usable > *too_small->usable))
      too_small = &profile;
    if (!in_host || *in_host == MiB{0}) continue;
    const double resident_s = time_on(fitted->law, gpu_bound_time(*measured.model, profile));
    const double crossing_s =
        offload_time(job, *in_host, link) / link.direct_share(profile.compute);
    RunEstimate estimate;
    estimate.instance = run_on(profile, resident_s + crossing_s, *next, question.basis.gpu_sms);
    estimate.instance.peak = estimate.instance.capacity;
    estimate.instance.offloaded = true;
    estimate.in_host = *in_host;
    estimate.slowdown = (resident_s + crossing_s) / resident_s;
    estimates.push_back(std::move(estimate));
  }
  if (estimates.empty() && too_small != nullptr)
    return fail(ErrorKind::infeasible, "",
                fmt::format("its {} MiB do not fit on {} even so: with {} MiB on the host it needs "
                            "{} MiB there, and {} are usable",
                            memory.value, too_small->name, most.value, (memory - most).value,
                            too_small->usable->value),
                fmt::format("at least {} MiB must be able to be on the host",
                            (memory - *too_small->usable).value));
  return estimates;
}

}  // namespace cleave::cli
