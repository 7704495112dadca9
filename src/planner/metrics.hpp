#pragma once
// How good a layout is: the nine metrics of *Optimal Workload Placement*, table 3, in slices, and
// what the planner minimises. Readings G2, O13 to O16. A wall counts as an instance that takes its
// slices.

#include <cstdint>
#include <vector>

#include "base/ratio.hpp"
#include "planner/problem.hpp"

namespace cleave {

/// Whether memory and compute slices have the same width, so that an instance blocks the compute
/// slices above its memory. This holds on an A30 and on models with seven compute and eight memory
/// slices. On other models compute is a budget, independent of position.
bool compute_follows_memory(const GpuModel& model);

/// GPU slices: the compute slices that an instance at this placement takes away. Where compute
/// follows memory these are the slices it covers, elsewhere the slices it has.
int gpu_slices(const Geometry& geometry, PlacementId placement);

/// Slices that an instance at this placement makes useless, in addition to those it has.
struct Waste {
  int memory = 0;   // a last memory slice that only this instance could have had
  int compute = 0;  // compute slices it covers by position but does not have
  [[nodiscard]] int slices() const { return memory + compute; }
};
Waste waste(const Geometry& geometry, PlacementId placement);

/// The figures of one layout of the fleet.
struct PlanMetrics {
  std::int64_t gpus = 0;  // with at least one workload or wall
  std::int64_t memory_wastage = 0, compute_wastage = 0;
  /// GPU slices free on the whole fleet, minus those that pending work needs.
  std::int64_t availability = 0;
  std::int64_t migration_size = 0;    // memory slices of running work that changes its GPU
  std::int64_t moved_inside_gpu = 0;  // workloads that stay on their GPU at another placement
  std::int64_t pending_size = 0;      // memory slices of work without a seat
  /// Workloads moved to slices of another GPU that are in use now.
  std::int64_t sequential_migrations = 0;
  Ratio memory_utilization{0, 1}, compute_utilization{0, 1};  // of the GPUs in use
};
PlanMetrics metrics(const PlanProblem& problem, const Goal& goal);

/// Algorithm 1 of the paper: the largest partitions that can still be made on a GPU. Goes from
/// slice to slice upwards and puts the largest profile that may start there.
std::vector<PlacementId> largest_free_partitions(const Geometry& geometry, PlacementSet taken);

}  // namespace cleave
