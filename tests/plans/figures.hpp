#pragma once
// The value of a plan, computed from the seats in it: the objectives in their order, and the nine
// metrics of *Optimal Workload Placement*, table 3. Independent of the planner's own figures.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/ratio.hpp"
#include "scene.hpp"

namespace cleave::plans {

inline constexpr std::size_t objectives = 5;
using Objectives = std::array<std::int64_t, objectives>;  // pending memory slices first

/// Their names, in the order in which they count for this task.
std::array<std::string_view, objectives> objective_names(Task task);

/// The position among them of the memory slices of running work that leaves its place.
constexpr std::size_t migrated_slices(Task task) {
  return task == Task::reconfigure ? 4 : 3;
}

/// A work by its index in Scene::works, on some GPU.
using Holder = std::pair<std::size_t, Instance>;
/// What one GPU adds to the objectives if it holds these works, without the pending ones.
Objectives share(const Scene& scene, std::size_t gpu, std::span<const Holder> holders);
/// For the whole fleet: the shares of all GPUs, and the pending work.
Objectives value(const Scene& scene, const Seats& seats);

/// The nine metrics of a fleet.
struct Metrics {
  std::int64_t gpus = 0, memory_wastage = 0, compute_wastage = 0, availability = 0,
               migration_size = 0, moved_inside_gpu = 0, pending_size = 0,
               sequential_migrations = 0;
  Ratio memory_utilization{0, 1}, compute_utilization{0, 1};
};
Metrics metrics(const Scene& scene, const Seats& seats);

}  // namespace cleave::plans
