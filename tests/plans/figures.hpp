#pragma once
// What a plan is worth, worked out from where everything is to be: the objectives in their order,
// and the nine metrics of *Optimal Workload Placement*, table 3. Independent of the planner's own
// figures.

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

/// Where the memory slices of running work that leaves its place stand among them.
constexpr std::size_t migrated_slices(Task task) {
  return task == Task::reconfigure ? 4 : 3;
}

/// A work by its place in Scene::works, on some GPU.
using Holder = std::pair<std::size_t, Instance>;
/// What one GPU adds to the objectives when these works are to be on it. Nothing to pending.
Objectives share(const Scene& scene, std::size_t gpu, std::span<const Holder> holders);
/// Of the whole fleet: the shares of all GPUs, and what is pending.
Objectives value(const Scene& scene, const Seats& seats);

struct Metrics {
  std::int64_t gpus = 0, memory_wastage = 0, compute_wastage = 0, availability = 0,
               migration_size = 0, moved_inside_gpu = 0, pending_size = 0,
               sequential_migrations = 0;
  Ratio memory_utilization{0, 1}, compute_utilization{0, 1};
};
Metrics metrics(const Scene& scene, const Seats& seats);

}  // namespace cleave::plans
