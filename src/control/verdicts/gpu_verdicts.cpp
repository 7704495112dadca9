#include "control/verdicts/gpu_verdicts.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "control/verdicts/process_verdicts.hpp"
#include "placement/request_table.hpp"

namespace cleave {

namespace {

using State = ManagedInstance::State;
using Steps = std::ranges::subrange<std::deque<GpuStep>::const_iterator>;

bool exists(const ManagedGpu& gpu, PlacementId placement) {
  const auto instance = gpu.instances.find(placement);
  return instance != gpu.instances.end() && instance->second.state == State::ready;
}

bool can_destroy(const NodeState& node, GpuId id, const GpuStep& step, const Steps& earlier) {
  return exists(node.gpu(id), step.placement) && !node.occupied(id, step.placement) &&
         std::ranges::none_of(
             earlier, [&](const GpuStep& other) { return other.placement == step.placement; });
}

bool can_create(const NodeState& node, GpuId id, const GpuStep& step, const Steps& earlier) {
  const ManagedGpu& gpu = node.gpu(id);
  const auto in_the_way = [](const GpuStep& other) {
    return other.kind == GpuStep::Kind::destroy || other.kind == GpuStep::Kind::start_whole;
  };
  const auto goes = [](const auto& entry) { return entry.second.state == State::going; };
  return !gpu.instances.contains(step.placement) && !node.occupied(id, std::nullopt) &&
         std::ranges::none_of(earlier, in_the_way) && std::ranges::none_of(gpu.instances, goes);
}

bool can_start(const NodeState& node, GpuId id, const GpuStep& step, const Steps& earlier) {
  const auto before_it = [&](const GpuStep& other) {
    return other.placement == step.placement && other.kind != GpuStep::Kind::share;
  };
  if (!exists(node.gpu(id), step.placement) || std::ranges::any_of(earlier, before_it))
    return false;
  if (step.kind == GpuStep::Kind::share) return node.has_no_process(step.job);
  if (node.occupied(id, step.placement)) return false;
  if (step.kind == GpuStep::Kind::start) return node.has_no_process(step.job);
  if (step.kind == GpuStep::Kind::hand_over) return true;
  const LiveJob* job = node.find(step.job);  // a replica starts beside the attempt it replaces
  return job == nullptr || job->attempts.size() <= 1;
}

}  // namespace

bool mig_fits(const ManagedGpu& gpu, const MigRules& rules) {
  return rules.may_switch || gpu.observation->mig != rules.wants_whole_gpus;
}

bool takes_work(const ManagedGpu& gpu, const MigRules& rules) {
  return gpu.observation && !gpu.hung && !gpu.drained && gpu.drained_by() == nullptr &&
         gpu.trouble.empty() && !gpu.vacancy.set_aside && (gpu.lost || mig_fits(gpu, rules));
}

bool can_make_engine(const std::vector<ManagedGpu>& gpus) {
  return std::ranges::all_of(gpus, [](const ManagedGpu& gpu) {
    if (gpu.hung) return true;
    if (!gpu.observation && gpu.trouble.empty()) return false;
    return std::ranges::all_of(gpu.asked, [](const auto& entry) {
      return std::holds_alternative<LookAtGpu>(entry.second.operation);
    });
  });
}

MigAnswer mig_for(const ManagedGpu& gpu, GpuStep::Kind step, bool may_switch) {
  if (!gpu.observation || gpu.lost) return MigAnswer::wait;
  const bool on = step != GpuStep::Kind::start_whole;
  if (gpu.observation->mig == on) return MigAnswer::right;
  const bool asked = std::ranges::any_of(gpu.asked, [](const auto& entry) {
    return std::holds_alternative<SwitchMig>(entry.second.operation);
  });
  return !asked && may_switch ? MigAnswer::switch_first : MigAnswer::wait;
}

bool host_has_room(const NodeState& node, std::span<const PlacedStep> starts) {
  if (node.host.empty()) return true;
  HostAmount used, wanted;
  std::set<JobNumber> starting;
  for (const auto& [gpu, step] : starts) {
    const LiveJob* job = node.find(step.job);
    if (job == nullptr) continue;
    starting.insert(step.job);
    const bool whole = step.kind == GpuStep::Kind::start_whole;
    wanted +=
        node.host_part(job->record, {gpu, whole ? std::nullopt : std::optional(step.placement)});
  }
  // One that moves has its part once.
  for (const auto& [place, keys] : node.occupants)
    for (const JobKey& key : keys)
      if (const LiveJob* job = node.find(key.job); job != nullptr && !starting.contains(key.job))
        used += node.host_part(job->record, place);
  return holds(node.host_node(), used, wanted);
}

bool is_ready(const NodeState& node, GpuId id, std::size_t i) {
  const ManagedGpu& gpu = node.gpu(id);
  const GpuStep& step = gpu.steps[i];
  const bool starts = step.kind != GpuStep::Kind::destroy && step.kind != GpuStep::Kind::create;
  if (starts && !host_has_room(node, std::array{PlacedStep{id, step}})) return false;
  const Steps earlier(gpu.steps.begin(), gpu.steps.begin() + static_cast<std::ptrdiff_t>(i));
  switch (step.kind) {
    case GpuStep::Kind::destroy:
      return can_destroy(node, id, step, earlier);
    case GpuStep::Kind::create:
      return can_create(node, id, step, earlier);
    case GpuStep::Kind::start_whole:
      return gpu.instances.empty() && gpu.claimed.empty() && i == 0 &&
             !node.occupied(id, std::nullopt) && node.has_no_process(step.job);
    case GpuStep::Kind::start:
    case GpuStep::Kind::share:
    case GpuStep::Kind::replica:
    case GpuStep::Kind::hand_over:
      return can_start(node, id, step, earlier);
  }
  return false;
}

bool crosses_users(const NodeState& node, GpuId id, std::size_t i) {
  const ManagedGpu& gpu = node.gpu(id);
  const GpuStep& step = gpu.steps[i];
  const bool starts = step.kind == GpuStep::Kind::start || step.kind == GpuStep::Kind::share ||
                      step.kind == GpuStep::Kind::replica || step.kind == GpuStep::Kind::hand_over;
  const LiveJob* job = starts ? node.find(step.job) : nullptr;
  if (job == nullptr || !exists(gpu, step.placement) || node.occupied(id, step.placement))
    return false;
  const Steps earlier(gpu.steps.begin(), gpu.steps.begin() + static_cast<std::ptrdiff_t>(i));
  if (std::ranges::find(earlier, step.placement, &GpuStep::placement) != earlier.end())
    return false;
  const ManagedInstance& instance = gpu.instances.at(step.placement);
  return !instance.fresh && instance.user != job->record.owner.uid;
}

std::vector<PlacementId> idle_instances(const NodeState& node, GpuId gpu, Duration now,
                                        Duration keep) {
  std::vector<PlacementId> idle;
  for (const auto& [placement, instance] : node.gpu(gpu).instances)
    if (instance.state == State::ready && !node.occupied(gpu, placement) &&
        !node.gpu(gpu).quarantines(instance) && now - instance.idle_since >= keep)
      idle.push_back(placement);
  return idle;
}

bool may_be_given(const NodeState& node, const LiveJob& job, const JobPlace& place,
                  bool across_users) {
  const ManagedGpu& gpu = node.gpu(place.gpu);
  const auto instance = gpu.instances.find(place.placement.value());
  if (instance == gpu.instances.end() || instance->second.state != State::ready ||
      node.occupied(place.gpu, place.placement) || !belongs_into_queue(node, job) ||
      job.record.places() > 1)
    return false;
  const ManagedInstance& there = instance->second;
  return (across_users || there.fresh || there.user == job.record.owner.uid) &&
         resolve(job.record.request, {gpu.geometry()})
             .candidates.front()
             .contains(*place.placement) &&
         host_has_room(
             node, std::array{PlacedStep{
                       place.gpu, {GpuStep::Kind::start, *place.placement, job.record.number}}});
}

std::vector<JobNumber> takers_of(const NodeState& node, const JobPlace& place, bool across_users,
                                 bool in_order) {
  std::vector<JobNumber> takers;
  std::map<std::pair<Request, std::uint32_t>, bool> known;
  for (const JobNumber number : queue_of(node)) {
    const LiveJob& job = node.jobs.at(number);
    if (job.place) continue;
    const auto [may, fresh] = known.try_emplace({job.record.request, job.record.owner.uid}, false);
    if (fresh) may->second = may_be_given(node, job, place, across_users);
    if (may->second) takers.push_back(number);
    if (in_order && !job.rejected) break;
  }
  return takers;
}

InstanceChanges changes_of(const ManagedGpu& gpu, const GpuObservation& observation) {
  InstanceChanges changes;
  std::set<std::string> shown;
  for (const ObservedInstance& seen : observation.instances) {
    shown.insert(seen.device);
    if (!seen.placement) continue;
    const bool known = gpu.instances.contains(*seen.placement);
    const bool ours = seen.owner == Ownership::ours && !seen.device.empty();
    if (ours && !known) changes.found.push_back(*seen.placement);
    if (!ours && (!known || exists(gpu, *seen.placement))) changes.walls.insert(*seen.placement);
  }
  for (const auto& [placement, instance] : gpu.instances)
    if (instance.state == State::ready && !shown.contains(instance.device))
      changes.vanished.push_back(placement);
  return changes;
}

bool is_settled(const PendingVerdict& pending, const ManagedGpu& gpu, Duration now) {
  return gpu.lost || gpu.hung || gpu.shown > pending.operations || now >= pending.until;
}

Duration next_wake(const NodeState& node, Duration now, const WakeRules& rules) {
  Duration at = node.timers.empty() ? Duration::max() : node.timers.begin()->first;
  for (const PendingVerdict& each : node.pending) at = std::min(at, each.until);
  for (const ManagedGpu& gpu : node.gpus) {
    if (gpu.asked.empty() && rules.store_writes) at = std::min(at, gpu.next_look);
    if (!gpu.hung) at = std::min(at, gpu.answer_due(rules.gpu_patience));
    if (!rules.keep_idle) continue;
    for (const auto& [placement, instance] : gpu.instances) {
      const Duration due = instance.idle_since + *rules.keep_idle;
      if (instance.state == State::ready && due > now) at = std::min(at, due);
    }
  }
  return at;
}

bool has_kinds(const NodeState& node) {
  return std::ranges::any_of(node.jobs, [](const auto& each) {
    return kind_of(each.second.record.spec) != JobKind::batch &&
           !is_final(each.second.record.state);
  });
}

bool belongs_into_queue(const NodeState& node, const LiveJob& job) {
  if (!job.record.several()) return waits(job);
  return std::ranges::all_of(node.processes(job), [](const LiveJob* each) { return waits(*each); });
}

std::vector<JobNumber> queue_of(const NodeState& node) {
  std::vector<JobNumber> all;
  for (const auto& [number, job] : node.jobs)
    if (job.record.stands_alone() && belongs_into_queue(node, job)) all.push_back(number);
  // The engine numbers jobs as it hears of them: of one that was tried and waits again, anew.
  constexpr auto not_yet_told = std::numeric_limits<std::size_t>::max();
  std::ranges::stable_sort(all, {}, [&](JobNumber number) {
    const LiveJob& job = node.jobs.at(number);
    return std::pair(-job.record.spec.priority, job.id ? index(*job.id) : not_yet_told);
  });
  return all;
}

}  // namespace cleave
