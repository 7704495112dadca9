#pragma once
// What the methods of heuristic.hpp share: a method is an order of work and a manner of choosing
// GPUs and starts; deploying, compacting and laying out anew are then the same for all (readings O4
// to O12).

#include <cstdint>
#include <vector>

#include "planner/gpu_pool.hpp"
#include "planner/heuristic.hpp"

namespace cleave {

struct Method {
  Manner manner;
  /// The order in which work is taken. The list comes as the file has it: what runs by GPU and
  /// start.
  void (*sort)(const PlanProblem&, std::vector<WorkloadIndex>&);
};

/// Large before small, ties as they come. Size is the share of a GPU's slices, compute and memory
/// together, then the order of profiles in the model's table: on one model that of the paper's
/// profile ids. Of several possible instances the smallest counts, and of several models the one
/// where that is the largest share.
void sort_by_size(const PlanProblem& problem, std::vector<WorkloadIndex>& work);

/// Equation 3: GPUs without which the running work has too few slices, whatever its positions;
/// rounded up (reading O8). On a mixed fleet each workload counts as the least share that it needs
/// of a GPU that can take it.
std::int64_t least_gpus(const PlanProblem& problem);

/// New work, one after the other, on all GPUs; what runs stays.
HeuristicOutcome deploy_by(const PlanProblem& problem, const Method& method);

/// Empties GPUs, the least full first, until none can be emptied; then once more with one free GPU,
/// if that empties more than one (readings O6 and O7). A step beyond the problem's limits is not
/// taken.
HeuristicOutcome compact_by(const PlanProblem& problem, const Method& method);

/// Lays out what runs anew in one pass: GPUs that are free now first, those in use, as if emptied,
/// only for what does not fit there (reading O11).
HeuristicOutcome reconfigure_in_one_pass(const PlanProblem& problem, const Method& method);

/// Everything that runs stays where it is, but for work that its own pin, forbidden GPUs or group
/// keep from there: that is placed as the method does, on GPUs in use before free ones. What finds
/// no seat, or would be moved beyond the problem's limits, is added to `pending`.
Seating settle(const PlanProblem& problem, const Method& method,
               std::vector<WorkloadIndex>& pending);

/// The rules' own way, in a file of this name: first work that can use a GPU's spare memory slice,
/// one on each GPU, then the rest, large before small; with one more GPU as long as it does not
/// fit.
HeuristicOutcome reconfigure_by_rules(const PlanProblem& problem, const Method& method);

/// The outcome of laying out anew; where its moves are beyond the problem's limits, everything as
/// `settle` has it, since a layout anew cannot be had by half.
HeuristicOutcome unless_beyond_limits(const PlanProblem& problem, const Method& method,
                                      HeuristicOutcome outcome);

}  // namespace cleave
