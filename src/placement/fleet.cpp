#include "placement/fleet.hpp"

#include <algorithm>
#include <cassert>

namespace cleave {

bool Fleet::SameState::operator()(const GpuState& a, const GpuState& b) const {
  return a.kind == b.kind && a.held == b.held && a.idle == b.idle && a.walls == b.walls &&
         a.absent == b.absent;
}

std::size_t Fleet::HashState::operator()(const GpuState& state) const {
  // Three odd constants keep the sets apart; the shift brings the well-mixed high bits down.
  const std::uint64_t mixed = state.held.bits() * std::uint64_t{0x9e3779b97f4a7c15} ^
                              state.idle.bits() * std::uint64_t{0xc2b2ae3d27d4eb4f} ^
                              (state.walls.bits() + 2U * state.kind + (state.absent ? 1U : 0U)) *
                                  std::uint64_t{0x165667b19e3779f9};
  return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

Fleet::Fleet(const FleetFile& file) {
  for (const Geometry& geometry : file.geometries) {
    graphs_.push_back(StateGraph::of(geometry.model(), geometry.profiles()));
    width_ = std::max(width_, static_cast<std::size_t>(geometry.size()));
  }
  gpus_.reserve(file.gpus.size());
  std::unordered_map<std::string_view, std::uint32_t> nodes;
  for (const GpuEntry& entry : file.gpus) {
    GpuState gpu;
    gpu.kind = static_cast<std::uint16_t>(entry.geometry);
    const Geometry& geometry = graphs_[entry.geometry]->geometry();
    for (const InstanceEntry& instance : entry.instances) {
      // What is not movable and has no known workload may be running something all the same.
      const bool wall = !instance.owned || (!instance.workload && !instance.movable);
      PlacementSet& where = wall ? gpu.walls : instance.workload ? gpu.held : gpu.idle;
      where.insert(instance.placement);
    }
    gpu.occupied = graphs_[entry.geometry]->find(gpu.held | gpu.walls);
    assert(gpu.occupied != no_state);
    gpu.held_compute = static_cast<std::uint8_t>(geometry.compute(gpu.held).value);
    gpu.held_memory = static_cast<std::uint8_t>(geometry.memory(gpu.held).value);
    gpus_.push_back(intern(gpu));
    const auto [node, fresh] = nodes.try_emplace(node_of(entry.name), node_count_);
    node_count_ += fresh ? 1 : 0;
    nodes_.push_back(node->second);
  }
  hosts_ = host_nodes(file);
}

StateNumber Fleet::intern(const GpuState& state) {
  const auto [entry, fresh] = numbers_.try_emplace(state, static_cast<StateNumber>(states_.size()));
  if (fresh) {
    states_.push_back(state);
    after_.resize(after_.size() + width_, unknown);
    vacated_.resize(after_.size(), unknown);
  }
  return entry->second;
}

void Fleet::set_absent(GpuId gpu, bool absent) {
  GpuState state = (*this)[gpu];
  state.absent = absent;
  gpus_[index(gpu)] = intern(state);
}

void Fleet::clear(GpuId gpu) {
  GpuState empty;
  empty.kind = (*this)[gpu].kind;
  empty.absent = (*this)[gpu].absent;
  gpus_[index(gpu)] = intern(empty);
}

void Fleet::destroy_idle(GpuId gpu, PlacementId placement) {
  GpuState state = (*this)[gpu];
  assert(state.idle.contains(placement));
  state.idle.erase(placement);
  gpus_[index(gpu)] = intern(state);
}

GpuId Fleet::append(std::size_t kind) {
  GpuState empty;
  empty.kind = static_cast<std::uint16_t>(kind);
  gpus_.push_back(intern(empty));
  nodes_.push_back(node_count_++);
  if (!hosts_.empty()) hosts_.emplace_back();
  return static_cast<GpuId>(gpus_.size() - 1);
}

PlacementSet Fleet::destroys(const GpuState& gpu, PlacementId placement) const {
  if (gpu.idle.contains(placement)) return {};
  const Geometry& own = geometry(gpu);
  if (graph(gpu).pairwise()) return gpu.idle & own[placement].conflicts;
  const PlacementSet needed = gpu.held | gpu.walls | PlacementSet::of(placement);
  PlacementSet kept = gpu.idle - own[placement].conflicts;
  while (!kept.empty() && !own.within_limits(needed | kept)) kept.erase(kept.last());
  return gpu.idle - kept;
}

StateNumber Fleet::learn_hold(StateNumber number, PlacementId placement) {
  GpuState gpu = states_[number];
  const StateGraph& states = graph(gpu);
  const Profile& profile = *states.geometry()[placement].profile;
  assert(states.add(gpu.occupied, placement) != no_state);
  gpu.idle = gpu.idle - destroys(gpu, placement);
  gpu.idle.erase(placement);
  gpu.held.insert(placement);
  gpu.occupied = states.add(gpu.occupied, placement);
  gpu.held_compute = static_cast<std::uint8_t>(gpu.held_compute + profile.compute.value);
  gpu.held_memory = static_cast<std::uint8_t>(gpu.held_memory + profile.memory.value);
  const StateNumber after = intern(gpu);
  after_[cell(number, placement)] = after;
  return after;
}

StateNumber Fleet::learn_release(StateNumber number, PlacementId placement) {
  GpuState gpu = states_[number];
  assert(gpu.held.contains(placement));
  const StateGraph& states = graph(gpu);
  const Profile& profile = *states.geometry()[placement].profile;
  gpu.held.erase(placement);
  gpu.idle.insert(placement);
  gpu.occupied = states.remove(gpu.occupied, placement);
  gpu.held_compute = static_cast<std::uint8_t>(gpu.held_compute - profile.compute.value);
  gpu.held_memory = static_cast<std::uint8_t>(gpu.held_memory - profile.memory.value);
  const StateNumber after = intern(gpu);
  after_[cell(number, placement)] = after;
  return after;
}

StateNumber Fleet::learn_vacate(StateNumber number, PlacementId placement) {
  GpuState gpu = states_[learn_release(number, placement)];
  gpu.idle.erase(placement);
  const StateNumber after = intern(gpu);
  vacated_[cell(number, placement)] = after;
  return after;
}

}  // namespace cleave
