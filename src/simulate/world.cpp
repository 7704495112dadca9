#include "simulate/world.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "physics/reconfiguration.hpp"

namespace cleave {

namespace {

constexpr const char* report_it =
    "this is a bug in Cleave; please report it with the command that led here";

std::unexpected<Error> refuse(const char* what, GpuId gpu, const Geometry& geometry,
                              PlacementId placement) {
  const Placement& where = geometry[placement];
  return fail(ErrorKind::internal, fmt::format("GPU {}", index(gpu)),
              fmt::format("the scheduler {} {} at {}", what, where.profile->name, where.start),
              report_it);
}

}  // namespace

World::World(const Fleet& start, std::optional<Duration> each, std::optional<std::uint64_t> jitter,
             Duration mig_switch)
    : graphs_(start.graphs()),
      hosts_(start),
      each_(each),
      jitter_(jitter),
      mig_switch_(mig_switch) {
  if (jitter_) batches_of_.resize(start.size());
  for (const auto& graph : graphs_) {
    const Geometry& geometry = graph->geometry();
    width_ = std::max(width_, static_cast<std::size_t>(geometry.model().memory_slices.value));
    auto& takes = takes_.emplace_back();
    for (const PlacementId id : geometry.all())
      takes[id] = {create_time(geometry, PlacementSet::of(id)),
                   destroy_time(geometry, PlacementSet::of(id))};
  }
  usable_from_.resize(start.size() * width_);
  gpus_.reserve(start.size());
  for (const GpuState& state : start.gpus()) {
    SimulatedGpu gpu;
    gpu.kind = state.kind;
    gpu.existing = graphs_[state.kind]->find(state.held | state.idle | state.walls);
    gpu.occupied = state.occupied;
    gpu.idle = state.idle;
    gpu.held_compute = state.held_compute;
    gpu.held_memory = state.held_memory;
    gpus_.push_back(gpu);
  }
  if (mig_switch_ == Duration::zero()) return;
  for (const SimulatedGpu& gpu : gpus_)
    modes_.push_back(gpu.existing != 0 ? WorldMigMode::on : WorldMigMode::unset);
}

Instant World::when_free(GpuId id, PlacementId placement, Instant now) const {
  const SimulatedGpu& gpu = (*this)[id];
  return gpu.pending.contains(placement) ? std::max(now, usable_from_[cell(id, placement)]) : now;
}

Result<void> World::destroy(GpuId id, PlacementId placement, Instant now) {
  SimulatedGpu& gpu = at(id);
  const StateGraph& states = graph(gpu);
  if (gpu.whole || !gpu.idle.contains(placement))
    return refuse("destroys an instance that is not idle and ours:", id, states.geometry(),
                  placement);
  gpu.cleared = std::max(gpu.cleared, when_free(id, placement, now));
  gpu.pending.erase(placement);
  gpu.fresh.erase(placement);
  gpu.existing = states.remove(gpu.existing, placement);
  gpu.idle.erase(placement);
  gpu.destroyed.insert(placement);
  gpu.batch = {};
  ++destroys_;
  return {};
}

Duration World::switched(GpuId gpu, WorldMigMode mode) {
  if (modes_.empty()) return Duration::zero();
  const WorldMigMode before = std::exchange(modes_[index(gpu)], mode);
  return before == mode || before == WorldMigMode::unset ? Duration::zero() : mig_switch_;
}

Duration World::strayed(Duration median, GpuId gpu, bool creates) const {
  if (!jitter_) return median;
  const std::uint64_t batch = batches_of_[index(gpu)];
  return drawn_time(median, *jitter_ ^ 0x6a6974, index(gpu), 2 * batch + (creates ? 1 : 0));
}

Duration World::create_batch_time(GpuId id) const {
  if (each_) return *each_;
  const SimulatedGpu& gpu = (*this)[id];
  return strayed(gpu.batch.size() == 1 ? takes_[gpu.kind][gpu.batch.first()].create
                                       : create_time(graph(gpu).geometry(), gpu.batch),
                 id, true);
}

Duration World::destroy_batch_time(GpuId id) const {
  if (each_) return *each_;
  const SimulatedGpu& gpu = (*this)[id];
  return strayed(gpu.destroyed.size() == 1 ? takes_[gpu.kind][gpu.destroyed.first()].destroy
                                           : destroy_time(graph(gpu).geometry(), gpu.destroyed),
                 id, false);
}

Result<void> World::create(GpuId id, PlacementId placement, Instant now) {
  SimulatedGpu& gpu = at(id);
  const StateGraph& states = graph(gpu);
  const StateId after = states.add(gpu.existing, placement);
  if (gpu.whole || gpu.absent || after == no_state)
    return refuse("creates where it cannot be:", id, states.geometry(), placement);
  if (gpu.batch.empty() || gpu.batch_at != now) {
    gpu.batch = {};
    gpu.batch_at = now;
    const Instant clear = std::max(now, gpu.cleared);
    if (jitter_) ++batches_of_[index(id)];
    gpu.batch_from = each_ ? clear : std::max(gpu.ready, clear) + destroy_batch_time(id);
    gpu.batch_from += switched(id, WorldMigMode::on);
    gpu.destroyed = {};
    // Those of the batch before may still be in the making.
    if (gpu.ready > now)
      for (const PlacementId earlier : gpu.fresh) {
        usable_from_[cell(id, earlier)] = std::max(when_free(id, earlier, now), gpu.ready);
        gpu.pending.insert(earlier);
      }
    gpu.fresh = {};
    ++batches_;
  }
  gpu.existing = after;
  gpu.idle.insert(placement);
  gpu.batch.insert(placement);
  gpu.ready = std::max(gpu.ready, gpu.batch_from + create_batch_time(id));
  gpu.fresh.insert(placement);
  ++creates_;
  return {};
}

void World::hold(SimulatedGpu& gpu, PlacementId placement) {
  const StateGraph& states = graph(gpu);
  const Profile& profile = *states.geometry()[placement].profile;
  gpu.idle.erase(placement);
  gpu.occupied = states.add(gpu.occupied, placement);
  gpu.held_compute = static_cast<std::uint8_t>(gpu.held_compute + profile.compute.value);
  gpu.held_memory = static_cast<std::uint8_t>(gpu.held_memory + profile.memory.value);
}

Result<Instant> World::start(GpuId id, PlacementId placement, Instant now) {
  SimulatedGpu& gpu = at(id);
  if (gpu.whole || !gpu.idle.contains(placement))
    return refuse("starts a job where no idle instance is:", id, graph(gpu).geometry(), placement);
  hold(gpu, placement);
  gpu.batch = {};
  const Instant free = when_free(id, placement, now);
  return gpu.fresh.contains(placement) ? std::max(free, gpu.ready) : free;
}

Result<Instant> World::start_shared(GpuId id, PlacementId placement, InstanceShare share,
                                    Instant now) {
  const Profile& profile = *graph((*this)[id]).geometry()[placement].profile;
  const bool of_slices = share.mode == SharingMode::compute_instances;
  if (share.part > (of_slices ? profile.compute.value : 100) || (of_slices && share.part == 0))
    return refuse("gives a job an impossible part of", id, graph((*this)[id]).geometry(),
                  placement);
  const int slices = of_slices ? share.part : 0;
  if (shared_.empty()) shared_.resize(gpus_.size() * width_);
  Shared& shared = shared_[cell(id, placement)];
  if (shared.jobs > 0 && shared.instance == placement) {
    if (shared.mode != share.mode || shared.slices + slices > profile.compute.value)
      return refuse("shares in two ways, or beyond its compute slices,", id,
                    graph((*this)[id]).geometry(), placement);
  } else {
    const auto begin = start(id, placement, now);
    if (!begin) return begin;
    shared = {*begin, placement, share.mode, 0, 0};
  }
  ++at(id).sharers;
  ++shared.jobs;
  shared.slices = static_cast<std::uint8_t>(shared.slices + slices);
  return std::max(shared.from, when_free(id, placement, now));
}

Result<Instant> World::start_whole(GpuId id, Instant now) {
  SimulatedGpu& gpu = at(id);
  const Geometry& geometry = graph(gpu).geometry();
  if (gpu.whole || gpu.absent || gpu.existing != 0)
    return fail(ErrorKind::internal, fmt::format("GPU {}", index(id)),
                "the scheduler starts a job on a whole GPU that has instances or a job", report_it);
  gpu.whole = true;
  gpu.held_compute = static_cast<std::uint8_t>(geometry.model().compute.value);
  gpu.held_memory = static_cast<std::uint8_t>(geometry.model().memory_slices.value);
  if (jitter_) ++batches_of_[index(id)];
  if (!gpu.destroyed.empty())
    gpu.ready = std::max({gpu.ready, gpu.cleared, now}) + destroy_batch_time(id);
  gpu.destroyed = {};
  const Duration off = switched(id, WorldMigMode::off);
  if (off > Duration::zero()) gpu.ready = std::max(gpu.ready, now) + off;
  return std::max(gpu.ready, now);
}

void World::in_use_until(GpuId gpu, PlacementId placement, Instant left) {
  usable_from_[cell(gpu, placement)] = when_free(gpu, placement, left);
  at(gpu).pending.insert(placement);
}

void World::release(SimulatedGpu& gpu, PlacementId placement) {
  const StateGraph& states = graph(gpu);
  const Profile& profile = *states.geometry()[placement].profile;
  gpu.occupied = states.remove(gpu.occupied, placement);
  gpu.idle.insert(placement);
  gpu.held_compute = static_cast<std::uint8_t>(gpu.held_compute - profile.compute.value);
  gpu.held_memory = static_cast<std::uint8_t>(gpu.held_memory - profile.memory.value);
}

void World::end(GpuId id, PlacementId placement, std::optional<Instant> left) {
  if (left) in_use_until(id, placement, *left);
  release(at(id), placement);
}

void World::end_shared(GpuId id, PlacementId placement, InstanceShare share,
                       std::optional<Instant> left) {
  if (left) in_use_until(id, placement, *left);
  SimulatedGpu& gpu = at(id);
  Shared& shared = shared_[cell(id, placement)];
  if (share.mode == SharingMode::compute_instances)
    shared.slices = static_cast<std::uint8_t>(shared.slices - share.part);
  --gpu.sharers;
  if (--shared.jobs == 0) release(gpu, placement);
}

void World::end_whole(GpuId id, std::optional<Instant> left) {
  SimulatedGpu& gpu = at(id);
  if (left) {
    gpu.ready = std::max(gpu.ready, *left);
    gpu.cleared = std::max(gpu.cleared, *left);
  }
  gpu.whole = false;
  gpu.held_compute = gpu.held_memory = 0;
}

HostAmount World::host_part(const HostAsk& ask, GpuId id,
                            std::optional<PlacementId> placement) const {
  const Geometry& geometry = graph((*this)[id]).geometry();
  return host_share(
      ask, hosts_.node_of(id),
      placement ? host_slices(*geometry[*placement].profile) : host_slices(geometry.model()));
}

void World::lose(GpuId id) {
  if (!shared_.empty()) std::fill_n(&shared_[index(id) * width_], width_, Shared{});
  SimulatedGpu lost;
  lost.kind = at(id).kind;
  lost.absent = true;
  at(id) = lost;
}

void World::recover(GpuId id, Instant now) {
  at(id).absent = false;
  at(id).ready = now;
}

}  // namespace cleave
