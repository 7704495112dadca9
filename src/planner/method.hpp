#pragma once
// What the methods of heuristic.hpp share. A method is an order of work and a manner of choosing
// GPUs and starts; deploying, compacting and reconfiguring are then the same for all (readings O4
// to O12).

#include <cstdint>
#include <vector>

#include "planner/gpu_pool.hpp"
#include "planner/heuristic.hpp"

namespace cleave {

/// The part of a heuristic that differs from method to method.
struct Method {
  Manner manner;
  /// The order in which work is placed. The list arrives in the order of the file: running work by
  /// GPU and start.
  void (*sort)(const PlanProblem&, std::vector<WorkloadIndex>&);
};

/// Large before small; ties keep their order. Size is the share of a GPU's slices, compute and
/// memory together, then the order of profiles in the model's table (on one model, that of the
/// paper's profile ids). If a request allows several instances, the smallest counts; if it fits
/// several models, the one with the largest share.
void sort_by_size(const PlanProblem& problem, std::vector<WorkloadIndex>& work);

/// Equation 3: how many GPUs the running work needs at least by its number of slices, ignoring
/// positions; rounded up (reading O8). On a mixed fleet each workload counts as the smallest share
/// of a GPU that can take it.
std::int64_t least_gpus(const PlanProblem& problem);

/// New work, one workload after the other, on all GPUs; running work stays.
HeuristicOutcome deploy_by(const PlanProblem& problem, const Method& method);

/// Empties GPUs, the least full first, until none can be emptied. Then tries once more with one
/// free GPU, if that empties more than one (readings O6 and O7). A step beyond the problem's limits
/// is not taken.
HeuristicOutcome compact_by(const PlanProblem& problem, const Method& method);

/// Places running work again in one pass: first on GPUs that are free now, then, for work that does
/// not fit there, on GPUs in use, as if emptied (reading O11). With `beside_running` on all GPUs,
/// beside what runs there.
HeuristicOutcome reconfigure_in_one_pass(const PlanProblem& problem, const Method& method);

/// All running work stays where it is, except work that its own pin, forbidden GPUs or group keep
/// from there. That work is placed as the method does, on GPUs in use before free ones. Work that
/// finds no seat, or would be moved beyond the problem's limits, is added to `pending`.
Seating settle(const PlanProblem& problem, const Method& method,
               std::vector<WorkloadIndex>& pending);

/// The reconfiguration of `rules` (reconfigure_by_rules.cpp): first work that can use a GPU's spare
/// memory slice, one on each GPU, then the rest, large before small. If it does not fit, again with
/// one more GPU.
HeuristicOutcome reconfigure_by_rules(const PlanProblem& problem, const Method& method);

/// The outcome of a reconfiguration. If its moves exceed the problem's limits, the result of
/// `settle` instead: half a reconfiguration is of no use.
HeuristicOutcome unless_beyond_limits(const PlanProblem& problem, const Method& method,
                                      HeuristicOutcome outcome);

}  // namespace cleave
