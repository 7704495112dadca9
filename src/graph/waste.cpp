#include "graph/waste.hpp"

#include <algorithm>

namespace cleave {

bool compute_follows_memory(const GpuModel& model) {
  const int spare = model.memory_slices.value - model.compute.value;
  return spare == 0 || spare == 1;
}

int gpu_slices(const Geometry& geometry, PlacementId placement) {
  const Placement& where = geometry[placement];
  const GpuModel& model = geometry.model();
  if (!compute_follows_memory(model)) return where.profile->compute.value;
  // The spare memory slice behind the last compute slice has no compute slice of its own.
  const int end = std::min(where.start + where.profile->memory.value, model.compute.value);
  return std::max(0, end - where.start);
}

Waste waste(const Geometry& geometry, PlacementId placement) {
  const GpuModel& model = geometry.model();
  if (!compute_follows_memory(model)) return {};
  const Placement& where = geometry[placement];
  const int end = where.start + where.profile->memory.value;
  Waste waste;
  // An instance that has the last compute slice but not the spare memory slice behind it makes that
  // memory slice unusable.
  if (model.memory_slices.value > model.compute.value && end == model.compute.value)
    waste.memory = 1;
  waste.compute = gpu_slices(geometry, placement) - where.profile->compute.value;
  return waste;
}

}  // namespace cleave
