#include "placement/fleet.hpp"

#include <cassert>

namespace cleave {

Fleet::Fleet(const FleetFile& file) {
  for (const Geometry& geometry : file.geometries)
    graphs_.push_back(StateGraph::of(geometry.model(), geometry.profiles()));
  gpus_.reserve(file.gpus.size());
  for (const GpuEntry& entry : file.gpus) {
    GpuState gpu;
    gpu.kind = static_cast<std::uint16_t>(entry.geometry);
    const Geometry& geometry = graphs_[entry.geometry]->geometry();
    for (const InstanceEntry& instance : entry.instances) {
      PlacementSet& where = !instance.owned ? gpu.walls : instance.workload ? gpu.held : gpu.idle;
      where.insert(instance.placement);
    }
    gpu.occupied = graphs_[entry.geometry]->find(gpu.held | gpu.walls);
    assert(gpu.occupied != no_state);
    gpu.held_compute = static_cast<std::uint8_t>(geometry.compute(gpu.held).value);
    gpu.held_memory = static_cast<std::uint8_t>(geometry.memory(gpu.held).value);
    gpus_.push_back(gpu);
  }
}

PlacementSet Fleet::destroys(const GpuState& gpu, PlacementId placement) const {
  if (gpu.idle.contains(placement)) return {};
  const Geometry& own = geometry(gpu);
  const PlacementSet needed = gpu.held | gpu.walls | PlacementSet::of(placement);
  PlacementSet kept = gpu.idle - own[placement].conflicts;
  while (!kept.empty() && !own.within_limits(needed | kept)) kept.erase(kept.last());
  return gpu.idle - kept;
}

void Fleet::hold(GpuId id, PlacementId placement) {
  GpuState& gpu = gpus_[index(id)];
  const StateGraph& states = graph(gpu);
  const Profile& profile = *states.geometry()[placement].profile;
  assert(states.add(gpu.occupied, placement) != no_state);
  gpu.idle = gpu.idle - destroys(gpu, placement);
  gpu.idle.erase(placement);
  gpu.held.insert(placement);
  gpu.occupied = states.add(gpu.occupied, placement);
  gpu.held_compute = static_cast<std::uint8_t>(gpu.held_compute + profile.compute.value);
  gpu.held_memory = static_cast<std::uint8_t>(gpu.held_memory + profile.memory.value);
}

void Fleet::release(GpuId id, PlacementId placement) {
  GpuState& gpu = gpus_[index(id)];
  assert(gpu.held.contains(placement));
  const StateGraph& states = graph(gpu);
  const Profile& profile = *states.geometry()[placement].profile;
  gpu.held.erase(placement);
  gpu.idle.insert(placement);
  gpu.occupied = states.remove(gpu.occupied, placement);
  gpu.held_compute = static_cast<std::uint8_t>(gpu.held_compute - profile.compute.value);
  gpu.held_memory = static_cast<std::uint8_t>(gpu.held_memory - profile.memory.value);
}

}  // namespace cleave
