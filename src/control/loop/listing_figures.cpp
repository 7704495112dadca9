// The node in numbers, for monitoring.

#include <algorithm>

#include "control/loop/listing.hpp"
#include "graph/fragmentation.hpp"

namespace cleave {

namespace {

std::size_t at(auto word) {
  return static_cast<std::size_t>(word);
}

InstanceStanding standing_of(const ManagedGpu& gpu, const ManagedInstance& instance, bool held) {
  if (instance.state == ManagedInstance::State::making) return InstanceStanding::making;
  if (instance.state == ManagedInstance::State::going) return InstanceStanding::going;
  if (held) return InstanceStanding::held;
  if (!instance.held.empty()) return InstanceStanding::stuck;
  return gpu.quarantines(instance) ? InstanceStanding::quarantined : InstanceStanding::idle;
}

SliceUse use_of(InstanceStanding standing) {
  switch (standing) {
    case InstanceStanding::held:
      return SliceUse::held;
    case InstanceStanding::foreign:
      return SliceUse::foreign;
    case InstanceStanding::stuck:
    case InstanceStanding::quarantined:
      return SliceUse::blocked;
    default:
      return SliceUse::idle;
  }
}

/// Adds the slices of one instance.
void take_slices(GpuFigures& figures, SliceUse use, const Profile& profile) {
  figures.memory_slices[at(use)] += profile.memory.value;
  figures.compute_slices[at(use)] += profile.compute.value;
}

/// What is left is free; on a GPU with MIG off that somebody has, nothing is.
void settle_slices(GpuFigures& figures, const GpuModel& model, std::optional<SliceUse> whole) {
  const auto settle = [&](auto& slices, std::int64_t all) {
    for (const std::int64_t each : slices) all -= each;
    slices[at(whole.value_or(SliceUse::free))] += std::max<std::int64_t>(0, all);
  };
  settle(figures.memory_slices, model.memory_slices.value);
  settle(figures.compute_slices, model.compute.value);
}

}  // namespace

GpuStanding Listing::standing_of(GpuId id) const {
  const ManagedGpu& gpu = node_.gpu(id);
  if (gpu.lost) return GpuStanding::lost;
  if (gpu.hung) return GpuStanding::hung;
  if (!gpu.observation) return GpuStanding::starting;
  if (gpu.drained_by() != nullptr) return GpuStanding::unhealthy;
  if (gpu.drained) return GpuStanding::drained;
  if (node_.held_of(id).all) return GpuStanding::planned;
  return usable(id) ? GpuStanding::ready : GpuStanding::trouble;
}

JobNumber Listing::first_job_at(const JobPlace& place) const {
  const auto keys = node_.occupants.find(place);
  if (keys == node_.occupants.end() || keys->second.empty()) return 0;
  const LiveJob* job = node_.find(keys->second.begin()->job);
  return job == nullptr ? 0 : job->record.job();
}

void Listing::add_instances(GpuFigures& figures, GpuId id) const {
  const ManagedGpu& gpu = node_.gpu(id);
  for (const auto& [placement, instance] : gpu.instances) {
    const JobNumber job = first_job_at({id, placement});
    const Profile& profile = *gpu.geometry()[placement].profile;
    InstanceFigures& each = figures.instances.emplace_back();
    each.profile = profile.name;
    each.standing = cleave::standing_of(gpu, instance, node_.occupied(id, placement));
    if (instance.numbers) each.gpu_instance = instance.numbers->gpu_instance;
    each.job = job;
    take_slices(figures, use_of(each.standing), profile);
  }
  if (!gpu.observation || gpu.lost) return;
  for (const ObservedInstance& seen : gpu.observation->instances) {
    if (!seen.placement || seen.owner == Ownership::ours) continue;
    const Profile& profile = *gpu.geometry()[*seen.placement].profile;
    InstanceFigures& each = figures.instances.emplace_back();
    each.profile = profile.name;
    each.standing = InstanceStanding::foreign;
    if (!seen.device.empty()) each.gpu_instance = seen.numbers.gpu_instance;
    take_slices(figures, SliceUse::foreign, profile);
  }
}

/// A GPU without jobs does not work. Nothing where the driver does not count, or has not counted a
/// job yet.
std::optional<double> Listing::utilisation_of(GpuId id) const {
  const ManagedGpu& gpu = node_.gpu(id);
  const GpuModel& model = gpu.geometry().model();
  if (!gpu.counts_work) return std::nullopt;
  double share = 0;
  for (auto place = node_.occupants.lower_bound({id, std::nullopt});
       place != node_.occupants.end() && place->first.gpu == id; ++place) {
    if (place->second.empty()) continue;
    const JobKey key = *place->second.begin();
    const LiveJob* job = node_.find(key.job);
    if (job == nullptr || !job->attempts.contains(key.attempt)) continue;
    const auto activity = job->attempts.at(key.attempt).activity;
    if (!activity) return std::nullopt;
    const auto placement = place->first.placement;
    const double slices =
        placement ? gpu.geometry()[*placement].profile->compute.value : model.compute.value;
    share += *activity * slices / model.compute.value;
  }
  return std::min(share, 1.0);
}

void Listing::add_room(GpuFigures& figures, GpuId id) const {
  const ManagedGpu& gpu = node_.gpu(id);
  PlacementSet taken = gpu.immovable() | node_.held_of(id).places;
  for (const auto& [placement, instance] : gpu.instances)
    if (node_.occupied(id, placement)) taken.insert(placement);
  const bool open = !free_places(id).empty();
  if (figures.mig)
    figures.fragmentation = fragmentation_cost(gpu.geometry(), taken).ratio().value();
  for (const FitCount& each : fit_counts(gpu.geometry(), taken)) {
    RoomFigures& room = figures.room.emplace_back();
    room.profile = each.profile->name;
    if (!open) continue;
    room.by_size = each.ideal;
    room.by_position = each.valid;
  }
}

GpuFigures Listing::figures_of(GpuId id) const {
  const ManagedGpu& gpu = node_.gpu(id);
  const GpuModel& model = gpu.geometry().model();
  GpuFigures figures;
  figures.index = gpu.identity->index;
  figures.uuid = gpu.identity->uuid;
  figures.model = gpu.identity->driver_name;
  figures.standing = standing_of(id);
  figures.conditions = std::ssize(gpu.conditions);
  std::optional<SliceUse> whole;
  if (gpu.observation && !gpu.lost) {
    figures.mig = gpu.observation->mig;
    if (gpu.observation->power_mw) figures.power_w = *gpu.observation->power_mw / 1000.0;
    if (gpu.observation->energy_mj)
      figures.energy_j = static_cast<double>(*gpu.observation->energy_mj) / 1000;
    figures.utilisation = utilisation_of(id);
  }
  if (node_.occupied(id, std::nullopt)) whole = SliceUse::held;
  if (!whole && !figures.mig && gpu.vacancy.set_aside) whole = SliceUse::foreign;
  add_instances(figures, id);
  settle_slices(figures, model, whole);
  add_room(figures, id);
  return figures;
}

NodeFigures Listing::figures(const QueueView& queue) const {
  NodeFigures figures;
  for (const GpuId id : node_.all_gpus()) figures.gpus.push_back(figures_of(id));
  for (const JobRecord* job : jobs()) {
    ++figures.jobs[at(job->state)];
    if (const auto reason = wait_reason(job->number, queue)) ++figures.waiting[at(*reason)];
  }
  if (node_.plan) {
    figures.plan_moves.emplace();
    for (const PlannedMove& move : node_.plan->moves) ++(*figures.plan_moves)[at(move.state)];
  }
  figures.disks = node_.disk.rooms;
  figures.scheduler = brain_.scheduler();
  figures.paused = node_.paused;
  figures.store_writes = book_.writes();
  figures.troubles = std::ssize(troubles());
  figures.tally = node_.tally;
  figures.decisions = brain_.decisions();
  figures.writes = book_.write_times();
  figures.failed_writes = book_.failed_writes();
  return figures;
}

}  // namespace cleave
