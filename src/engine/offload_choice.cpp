#include "engine/offload_choice.hpp"

#include <algorithm>

#include "forecast/choice/reward.hpp"

namespace cleave {

namespace {

/// A job on GPUs of one model.
struct JobThere {
  const JobFacts& facts;
  const Geometry& geometry;
  const ResolvedRequest& asked;
  JobId job;
  std::size_t kind;

  [[nodiscard]] std::optional<double> time_on(int profile) const {
    const auto time = facts.time_on(job, kind, profile);
    if (time && time->count() > 0) return in_seconds(*time);
    // Only ratios matter here.
    const auto speed = facts.speed_on(job, kind, profile);
    return speed && *speed > 0 ? std::optional(1 / *speed) : std::nullopt;
  }
};

bool faster_for_its_slices(const JobThere& there, const Placement& small) {
  const auto time = there.time_on(small.profile_index);
  if (!time) return false;
  for (const PlacementId id : there.asked.candidates[there.kind]) {
    const Placement& large = there.geometry[id];
    const auto other = there.time_on(large.profile_index);
    if (!other) continue;
    const double share =
        static_cast<double>(small.profile->memory.value) / large.profile->memory.value;
    if (*time * share > *other) return false;
  }
  return true;
}

/// Processor seconds of the job's work: it keeps no more busy than there are on any profile.
std::optional<double> busy_time(const JobThere& there) {
  std::optional<double> least;
  for (const Profile* profile : there.geometry.profile_list()) {
    const auto index = static_cast<int>(profile - there.geometry.model().profiles.data());
    const auto time = there.time_on(index);
    if (!time || !profile->sms) continue;
    const double here = *time * profile->sms->value;
    least = std::min(least.value_or(here), here);
  }
  return least;
}

/// What the job holds: what it asks for or was found to need, else all that there is.
std::optional<MiB> memory_of(const Request& request) {
  std::optional<MiB> memory = request.at_least;
  if (const auto* size = std::get_if<BySize>(&request.wanted))
    memory = std::max(memory.value_or(MiB{0}), size->memory);
  return memory;
}

bool of_higher_reward(const JobThere& there, const Placement& small, double alpha) {
  const GpuModel& model = there.geometry.model();
  const auto largest = static_cast<int>(&model.largest() - model.profiles.data());
  const auto whole = there.time_on(largest);
  const auto busy = busy_time(there);
  if (!whole || !busy || !model.largest().sms) return false;
  RewardBasis basis;
  basis.gpu_sms = model.largest().sms->value;
  basis.full_performance = 1 / *whole;
  basis.alpha = alpha;
  const auto memory = memory_of(there.asked.request);
  const auto reward_on = [&](const Placement& place) -> std::optional<double> {
    const auto time = there.time_on(place.profile_index);
    if (!time || !place.profile->sms || !place.profile->usable) return std::nullopt;
    MeasuredInstance run;
    run.sms = place.profile->sms->value;
    run.instance_occupancy = *busy / (*time * run.sms);
    run.capacity = static_cast<double>(place.profile->usable->value);
    run.peak = memory ? std::min(run.capacity, static_cast<double>(memory->value)) : run.capacity;
    run.performance = 1 / *time;
    return reward(run, basis).reward;
  };
  const auto here = reward_on(small);
  if (!here) return false;
  for (const PlacementId id : there.asked.candidates[there.kind])
    if (const auto other = reward_on(there.geometry[id]); other && *other - 1e-9 > *here)
      return false;
  return true;
}

}  // namespace

OffloadRule read_offload_rule(OptionReader& in) {
  OffloadRule rule;
  constexpr double most_alpha = 1e6;
  rule.by = in.is("offload", "never")    ? OffloadRule::By::never
            : in.is("offload", "reward") ? OffloadRule::By::reward
                                         : OffloadRule::By::speed;
  rule.alpha = in.number("alpha", 0, most_alpha);
  return rule;
}

bool worth_offloading(const OffloadRule& rule, const JobFacts* facts, const Fleet& fleet,
                      const ResolvedRequest& asked, JobId job, std::size_t kind,
                      PlacementId placement) {
  const Geometry& geometry = fleet.graphs()[kind]->geometry();
  if (asked.candidates[kind].meets(asked.with_offload[kind]))
    return true;  // it is all that the model has
  if (facts == nullptr || rule.by == OffloadRule::By::never) return false;
  const JobThere there{*facts, geometry, asked, job, kind};
  return rule.by == OffloadRule::By::reward
             ? of_higher_reward(there, geometry[placement], rule.alpha)
             : faster_for_its_slices(there, geometry[placement]);
}

}  // namespace cleave
