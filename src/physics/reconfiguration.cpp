#include "physics/reconfiguration.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "physics/least_squares.hpp"

namespace cleave {

namespace {

/// One instance on the whole GPU, which is faster than the law.
constexpr double create_whole_ms = 51.8, destroy_whole_ms = 120.2;

/// The data counts eighths of a GPU's memory; other models' slices are scaled to that.
constexpr double slices_of_the_data = 8;

Duration along(const ReconfigurationLaw& law, double whole_ms, const Geometry& geometry,
               PlacementSet instances) {
  if (instances.empty()) return Duration::zero();
  const double share =
      static_cast<double>(geometry.memory(instances).value) / geometry.model().memory_slices.value;
  const bool whole =
      instances.size() == 1 && geometry.memory(instances) == geometry.model().memory_slices;
  const double ms =
      whole ? whole_ms : reconfiguration_ms(law, instances.size(), share * slices_of_the_data);
  return std::chrono::round<Duration>(std::chrono::duration<double, std::milli>(ms));
}

}  // namespace

double reconfiguration_ms(const ReconfigurationLaw& law, int instances, double memory_slices) {
  return law.base_ms + law.per_instance_ms * instances + law.per_slice_ms * memory_slices;
}

std::optional<ReconfigurationLaw> fit_reconfiguration(std::span<const MeasuredLayout> layouts) {
  std::vector<std::vector<double>> rows;
  std::vector<double> times;
  for (const MeasuredLayout& each : layouts) {
    if (each.instances < 2) continue;
    rows.push_back(
        {1, static_cast<double>(each.instances), static_cast<double>(each.memory_slices)});
    times.push_back(each.ms);
  }
  const auto fit = linear_fit(rows, times);
  if (!fit) return std::nullopt;
  return ReconfigurationLaw{(*fit)[0], (*fit)[1], (*fit)[2]};
}

Duration create_time(const Geometry& geometry, PlacementSet instances) {
  return along(create_law, create_whole_ms, geometry, instances);
}

Duration destroy_time(const Geometry& geometry, PlacementSet instances) {
  return along(destroy_law, destroy_whole_ms, geometry, instances);
}

Duration drawn_time(Duration median, std::uint64_t seed, std::uint64_t which, std::uint64_t draw,
                    const ReconfigurationSpread& spread) {
  if (median <= Duration::zero()) return median;
  const auto ns = static_cast<double>(median.count());
  const double late =
      uniform_of(seed, which, 2 * draw) < spread.late_share ? spread.late_ms * 1e6 : 0;
  const double time = ns * (1 + spread.deviation * normal_of(seed, which, 2 * draw + 1)) + late;
  return Duration{std::llround(std::max(time, ns / 2))};
}

}  // namespace cleave
