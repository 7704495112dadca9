#pragma once
// WPM, the assignment model of *Optimal Workload Placement on Multi-Instance GPUs*, 4.1, (2a) to
// (2k), given to CBC as the paper gives it to CPLEX, so that the planner can be compared with it.
// It is not a method of planning here: it sees no starts, only what fits by size, and takes one GPU
// model and requests by profile only.
//
// How the paper was read, and what was done so that the model is not a straw man:
//
// - Bins are the free GPUs, an imaginary twin for each used GPU whose work may all move, and the
//   free partitions of used GPUs by algorithm 1. Where work on a used GPU may move, the place of
//   each instance is a partition too, as large as the largest profile that fits into it: staying is
//   an assignment like any other, and work may come where other work left.
// - Partitions of a GPU are merged into one where the box of their sums holds exactly what the
//   starts allow, and its U + V is exactly the waste the best starts leave ("merged set"); else
//   they stay apart.
// - Rows (2b) to (2d) are replaced by stronger ones, C_g y_g >= the sum of c_w x_wg and the same
// for
//   memory; the z of partitions fall away by that. A used GPU with work that must stay is in use
//   anyway: its y is 1.
// - The paper's lower bound on GPUs, equation 3, is a row: CBC does not find it on its own, and
// with
//   it the gap closes for many cases.
// - (2i) to (2k) as written (reading O1): delta is 1 when compute is not full.
// - Running work must have a place; new work may be pending (2e as an equation with the pending
// work
//   in it).
// - A +me instance needs the only one of its GPU: one more row per GPU, where +me is requested.
// - Reconfiguration lays out all work again: used GPUs exist as their imaginary twins only, and the
//   choice of twins weighs more than what is migrated.
// - The weights make one objective of pending memory slices, GPUs, wasted slices, migrated memory
//   slices and repartitioned GPUs, each unit dearer than all that can follow. It is a sum of costs,
//   to be minimised, and the 0.2 % are of these costs: the paper's profit counts every workload
//   placed at more than all GPUs together, and anything that leaves nothing pending is within 0.2 %
//   of that.
// - Equal free GPUs: y falls along their numbers. With a binary for each workload (`counted`
// false),
//   workload k uses none of the free GPUs beyond the k-th. With `counted`, equal workloads are one
//   integer for each bin, free GPUs are sorted by load, and work that comes from elsewhere is told
//   from work that stays, by profile: the same model without the symmetry of its workloads, much
//   smaller than the paper's.
// - A move within a GPU costs nothing (assumption 2); in the planner's objective it does, so that
//   migrated slices may be fewer here. Pending, GPUs and waste compare.
// - CBC runs with its own preprocessing, cuts and heuristics, and starts from a goal if one is
// given.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.hpp"
#include "planner/problem.hpp"

namespace cleave {

/// How CBC solves the model.
struct WpmOptions {
  /// Wall clock; CBC's preprocessing is not cut short.
  Duration time_limit = std::chrono::seconds(30);
  bool counted = true;
  const Goal* start = nullptr;  // where CBC starts; null: from nothing
  double gap = 0.002;           // share of the objective
};

/// What a solution comes to; gpus and waste include what must stay.
struct WpmValues {
  std::int64_t pending = 0;  // memory slices
  std::int64_t gpus = 0, waste = 0;
  std::int64_t migration = 0;  // memory slices of running work on another GPU than now
  std::int64_t repartitioned = 0;
  friend auto operator<=>(const WpmValues&, const WpmValues&) = default;
};

/// Whether the solution is proven, found without proof, or missing.
enum class WpmStatus { optimal, feasible, unsolved };
std::string_view name(WpmStatus status);

/// What CBC found, and how long it took.
struct WpmResult {
  WpmStatus status = WpmStatus::unsolved;
  WpmValues values;                 // of the best solution; without one all zero
  std::optional<double> objective;  // weighted costs
  /// Of the goal it started from, if the model can express that.
  std::optional<double> start_objective;
  double bound = 0;
  double seconds = 0;  // building and search, until proof or limit
  /// Until solution and bound were within the gap for the first time.
  std::optional<double> seconds_to_gap;
  int columns = 0, integers = 0, rows = 0;
  /// GPUs whose partitions stay apart; there the model may allow less than the GPU does.
  std::size_t unmerged = 0;
};

/// Fails on problems the model has no words for: several GPU models, pins and groups, limits of
/// moves, work that may stop, requests that more than one profile satisfies, profiles other than
/// plain ones and +me.
[[nodiscard]] Result<WpmResult> solve_wpm(const PlanProblem& problem, const WpmOptions& options);

}  // namespace cleave
