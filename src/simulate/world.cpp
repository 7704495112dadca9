#include "simulate/world.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "physics/reconfiguration.hpp"

namespace cleave {

namespace {

std::unexpected<Error> refuse(const char* what, GpuId gpu, const Geometry& geometry, PlacementId placement) {
  const Placement& where = geometry[placement];
  return fail(ErrorKind::internal, fmt::format("GPU {}", index(gpu)),
              fmt::format("the scheduler {} {} at {}", what, where.profile->name, where.start),
              "this is a bug in Cleave; please report it with the command that led here");
}

}  // namespace

World::World(const Fleet& start) : graphs_(start.graphs()) {
  gpus_.reserve(start.size());
  for (const GpuState& state : start.gpus()) {
    SimulatedGpu gpu;
    gpu.kind = state.kind;
    gpu.existing = graphs_[state.kind]->find(state.held | state.idle | state.walls);
    gpu.occupied = state.occupied;
    gpu.idle = state.idle;
    gpu.walls = state.walls;
    gpu.held_compute = state.held_compute;
    gpu.held_memory = state.held_memory;
    gpus_.push_back(gpu);
  }
}

Result<void> World::destroy(GpuId id, PlacementId placement) {
  SimulatedGpu& gpu = at(id);
  const StateGraph& states = graph(gpu);
  if (gpu.whole || !gpu.idle.contains(placement))
    return refuse("destroys an instance that is not idle and ours:", id, states.geometry(), placement);
  gpu.existing = states.remove(gpu.existing, placement);
  gpu.idle.erase(placement);
  gpu.destroyed.insert(placement);
  ++destroys_;
  return {};
}

Result<void> World::create(GpuId id, PlacementId placement, Instant now) {
  SimulatedGpu& gpu = at(id);
  const StateGraph& states = graph(gpu);
  const StateId after = states.add(gpu.existing, placement);
  if (gpu.whole || after == no_state)
    return refuse("creates where it cannot be:", id, states.geometry(), placement);
  gpu.existing = after;
  gpu.idle.insert(placement);
  gpu.ready = std::max(gpu.ready, now) + destroy_time(states.geometry(), gpu.destroyed) +
              create_time(states.geometry(), PlacementSet::of(placement));
  gpu.destroyed = {};
  gpu.created = PlacementSet::of(placement);
  ++creates_;
  return {};
}

Result<Instant> World::start(GpuId id, PlacementId placement, Instant now) {
  SimulatedGpu& gpu = at(id);
  const StateGraph& states = graph(gpu);
  if (gpu.whole || !gpu.idle.contains(placement))
    return refuse("starts a job where no idle instance is:", id, states.geometry(), placement);
  const Profile& profile = *states.geometry()[placement].profile;
  gpu.idle.erase(placement);
  gpu.occupied = states.add(gpu.occupied, placement);
  gpu.held_compute = static_cast<std::uint8_t>(gpu.held_compute + profile.compute.value);
  gpu.held_memory = static_cast<std::uint8_t>(gpu.held_memory + profile.memory.value);
  const bool just_made = gpu.created.contains(placement);
  gpu.created = {};
  return just_made ? gpu.ready : now;
}

Result<Instant> World::start_whole(GpuId id, Instant now) {
  SimulatedGpu& gpu = at(id);
  const Geometry& geometry = graph(gpu).geometry();
  if (gpu.whole || gpu.existing != 0)
    return fail(ErrorKind::internal, fmt::format("GPU {}", index(id)),
                "the scheduler starts a job on a whole GPU that has instances or a job",
                "this is a bug in Cleave; please report it with the command that led here");
  gpu.whole = true;
  gpu.held_compute = static_cast<std::uint8_t>(geometry.model().compute.value);
  gpu.held_memory = static_cast<std::uint8_t>(geometry.model().memory_slices.value);
  if (!gpu.destroyed.empty()) gpu.ready = std::max(gpu.ready, now) + destroy_time(geometry, gpu.destroyed);
  gpu.destroyed = {};
  return std::max(gpu.ready, now);
}

void World::end(GpuId id, PlacementId placement) {
  SimulatedGpu& gpu = at(id);
  const StateGraph& states = graph(gpu);
  const Profile& profile = *states.geometry()[placement].profile;
  gpu.occupied = states.remove(gpu.occupied, placement);
  gpu.idle.insert(placement);
  gpu.held_compute = static_cast<std::uint8_t>(gpu.held_compute - profile.compute.value);
  gpu.held_memory = static_cast<std::uint8_t>(gpu.held_memory - profile.memory.value);
}

void World::end_whole(GpuId id) {
  SimulatedGpu& gpu = at(id);
  gpu.whole = false;
  gpu.held_compute = gpu.held_memory = 0;
}

}  // namespace cleave
