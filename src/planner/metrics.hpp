#pragma once
// How good a layout is: the nine metrics of *Optimal Workload Placement*, table 3, in slices, and
// what the planner minimises. Readings G2, O13 to O16. A wall counts as an instance that takes its
// slices.

#include <cstdint>
#include <vector>

#include "base/ratio.hpp"
#include "graph/waste.hpp"
#include "planner/problem.hpp"

namespace cleave {

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
