#include "physics/reconfiguration.hpp"

namespace cleave {

namespace {

struct Line {
  double base_ms, per_instance_ms, per_slice_ms, whole_gpu_ms;
};

// Source: see the header; physics_test.cpp repeats the fit if the data is there.
constexpr Line creating = {56.9, 6.52, 4.22, 51.8};
constexpr Line destroying = {121.3, 2.03, 4.28, 120.2};

/// The data counts eighths of a GPU's memory; other models' slices are scaled to that.
constexpr double slices_of_the_data = 8;

Duration along(const Line& line, const Geometry& geometry, PlacementSet instances) {
  if (instances.empty()) return Duration::zero();
  const double share =
      static_cast<double>(geometry.memory(instances).value) / geometry.model().memory_slices.value;
  const bool whole =
      instances.size() == 1 && geometry.memory(instances) == geometry.model().memory_slices;
  const double ms = whole ? line.whole_gpu_ms
                          : line.base_ms + line.per_instance_ms * instances.size() +
                                line.per_slice_ms * share * slices_of_the_data;
  return std::chrono::round<Duration>(std::chrono::duration<double, std::milli>(ms));
}

}  // namespace

Duration create_time(const Geometry& geometry, PlacementSet instances) {
  return along(creating, geometry, instances);
}

Duration destroy_time(const Geometry& geometry, PlacementSet instances) {
  return along(destroying, geometry, instances);
}

}  // namespace cleave
