#include "control/verdicts/health_verdicts.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "base/format.hpp"
#include "base/human_time.hpp"

namespace cleave {

namespace {

/// The place of the instance of ours with the driver's number; nothing: it is not ours.
std::optional<PlacementId> placement_of(const ManagedGpu& gpu, GpuInstanceId number) {
  for (const auto& [placement, instance] : gpu.instances)
    if (instance.numbers && instance.numbers->gpu_instance == static_cast<std::uint32_t>(number))
      return placement;
  return {};
}

HealthReaction reaction_to(const HealthFact& fact, bool with_instance, bool action_told) {
  if (fact.deferred && action_told) return HealthReaction::requeue_job;
  return with_instance ? fact.reaction : fact.without_instance;
}

void add(std::vector<HealthFinding>& all, HealthFinding finding) {
  const auto same = std::ranges::find_if(all, [&](const HealthFinding& each) {
    return each.fact == finding.fact && each.number == finding.number &&
           each.placement == finding.placement;
  });
  if (same == all.end()) return all.push_back(finding);
  ++same->times;
}

void add_event(std::vector<HealthFinding>& all, const ManagedGpu& gpu, const GpuEvent& event,
               bool action_told) {
  if (event.kind != GpuEvent::Kind::xid) return;
  const HealthFact* fact =
      event.data <= UINT32_MAX
          ? find_health_fact(HealthSign::xid, static_cast<std::uint32_t>(event.data))
          : nullptr;
  HealthFinding finding{.fact = fact, .number = event.data, .placement = {}};
  if (event.gpu_instance) finding.placement = placement_of(gpu, *event.gpu_instance);
  if (fact != nullptr)
    finding.reaction = reaction_to(*fact, finding.placement.has_value(), action_told);
  // What befalls an instance of somebody else concerns nobody here, unless it is of the GPU.
  const bool foreign = event.gpu_instance && !finding.placement;
  if (foreign && finding.reaction != HealthReaction::drain_gpu)
    finding.reaction = HealthReaction::ignore;
  add(all, finding);
}

bool has_risen(std::optional<std::uint64_t> before, std::optional<std::uint64_t> now) {
  return before && now && *now > *before;
}

}  // namespace

std::vector<HealthFinding> findings_of(const ManagedGpu& gpu, const GpuNews& news) {
  std::vector<HealthFinding> all;
  const bool action_told =
      gpu.health.recovery_action || (news.observation && news.observation->health.recovery_action);
  for (const GpuEvent& event : news.events) add_event(all, gpu, event, action_told);
  if (!news.observation) return all;
  const HealthFact* errors = find_health_fact(HealthSign::memory_errors);
  if (has_risen(gpu.health.uncorrected, news.observation->health.uncorrected))
    add(all, {.fact = errors, .reaction = errors->without_instance, .placement = {}});
  for (const ObservedInstance& seen : news.observation->instances) {
    if (!seen.placement) continue;
    const auto known = gpu.instances.find(*seen.placement);
    if (known != gpu.instances.end() && known->second.device == seen.device &&
        has_risen(known->second.errors, seen.uncorrected))
      add(all, {.fact = errors, .reaction = errors->reaction, .placement = seen.placement});
  }
  return all;
}

std::span<const HealthSign> health_states() {
  static constexpr std::array states = {HealthSign::recovery_action, HealthSign::rows_failed,
                                        HealthSign::rows_pending};
  return states;
}

std::optional<const HealthFact*> state_of(const GpuHealth& health, HealthSign sign) {
  if (sign == HealthSign::recovery_action) {
    if (!health.recovery_action) return {};
    return *health.recovery_action == 0 ? nullptr : find_health_fact(sign, *health.recovery_action);
  }
  const auto& told = sign == HealthSign::rows_failed ? health.rows_failed : health.rows_pending;
  if (!told) return {};
  return *told ? find_health_fact(sign) : nullptr;
}

std::vector<JobFault> recent_faults(std::span<const JobFault> faults, Instant now) {
  std::vector<JobFault> recent;
  std::ranges::copy_if(faults, std::back_inserter(recent),
                       [&](const JobFault& each) { return now - each.at <= faults_count_for; });
  return recent;
}

bool is_taken_for_cause(std::span<const JobFault> faults, const std::string& gpu, Instant now) {
  return std::ranges::any_of(recent_faults(faults, now),
                             [&](const JobFault& each) { return each.grave && each.gpu != gpu; });
}

bool has_drained_enough(const NodeState& node, GpuId id, std::uint32_t uid) {
  std::set<GpuId> drained;
  for (const GpuId other : node.all_gpus())
    for (const GpuCondition& each : node.gpu(other).conditions)
      if (other != id && each.fact->sign == HealthSign::xid && each.uid == uid && drains(each))
        drained.insert(other);
  return drained.size() >= most_gpus_of_user;
}

bool ends_with_reset(const GpuCondition& condition) {
  return condition.fact->cure == HealthCure::reset || condition.fact->cure == HealthCure::remake;
}

std::string in_words(const GpuCondition& condition, std::uint32_t gpu_index, Instant now) {
  const HealthFact& fact = *condition.fact;
  const std::string job =
      condition.job == 0 ? "" : fmt::format(" while job {} ran there", condition.job);
  const Duration ago = std::max(now - condition.since, Duration{});
  const std::string back =
      fact.cure == HealthCure::nothing ? ""
      : condition.device.empty()
          ? fmt::format("; it takes jobs again after {}, or with `cleave undrain {}`",
                        in_words(fact.cure), gpu_index)
          : fmt::format("; its place is used again after {}", in_words(fact.cure));
  return fmt::format("{} {} ago{}: {}{}", in_words(fact), human(ago), job, fact.why, back);
}

}  // namespace cleave
