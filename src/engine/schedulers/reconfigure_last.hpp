#pragma once
// *Dyna-P*, Reconfiguration Last Placement (3.2, Equation 11): whether it is worth to stop all jobs
// of a GPU, so that it can be repartitioned for waiting jobs, or better to wait for them.
// Both are weighed in time: C_r is what stopping throws away, C_w how long waiting lasts.
//
// Equation 11 compares two maxima, so that seven jobs may lose five minutes each for one that would
// wait six. `weigh_every_loss` adds up instead: what every stopped job loses, against the time that
// every waiting job is spared.

#include <optional>
#include <span>

#include "base/time.hpp"

namespace cleave {

/// A job that runs now and would start again from its beginning.
struct ActiveJob {
  Instant start;
  Duration jct;                     // its whole time on its partition
  std::optional<Instant> deadline;  // for its completion
  Duration penalty{};  // what missing the deadline costs; of active jobs the literal C_w alone asks
};

/// A job that the GPU would be partitioned for.
struct WaitingJob {
  Duration jct;
  std::optional<Instant> deadline;
  Duration penalty{};
  Duration otherwise{};  // how long it waits if nobody is stopped; `weigh_every_loss` alone asks
};

/// What waiting costs (reading D2).
enum class WaitingCost {
  remaining,  // the longest remaining time of the active jobs, plus the waiting job's penalty when
              // that makes it late: when now + longest remaining time + its own time is after its
              // deadline
  literal,    // as printed: the largest time of an active job - the largest sum of time spent and
              // penalty
};

/// Whose time counts.
enum class Losses {
  every,    // of all jobs that are stopped and all that would start, added up
  largest,  // the longest among them, as Equation 11 has it
};

/// When to reconfigure (reading D1).
enum class CostCondition {
  text,     // C_r - C_w <= beta, Equation 11
  listing,  // C_r - C_w > beta, Algorithm 2, lines 27 to 30
};

/// What the comparison of costs goes by.
struct ReconfigureOptions {
  Duration alpha{};  // what reconfiguring takes by itself
  Duration beta{};   // the threshold of the cost difference; may be below zero
  WaitingCost waiting_cost = WaitingCost::remaining;
  CostCondition condition = CostCondition::text;
  bool overhead_before_deadline =
      false;  // whether the test of deadlines counts alpha too (reading D3)
};

/// The answer, and what it was made from.
struct ReconfigureDecision {
  Duration reconfigure_cost{};  // C_r = alpha + the longest time that an active job has spent
  Duration waiting_cost{};      // C_w; zero without active jobs
  bool deadlines_met = true;    // every active job, started again now, ends by its deadline
  bool deadlines_met_with_overhead = true;  // the same when it starts alpha later
  bool reconfigure = false;                 // the condition holds and deadlines are met
};

/// Without active jobs C_r is alpha, C_w zero and every deadline is met.
[[nodiscard]] ReconfigureDecision weigh_reconfiguration(Instant now,
                                                        std::span<const ActiveJob> active,
                                                        const WaitingJob& waiting,
                                                        const ReconfigureOptions& options);

/// The same with every job's time: C_r = the sum of what active jobs have spent, and alpha for each
/// job, active or waiting, since none runs while the GPU is repartitioned; C_w = the sum of the
/// times that the waiting jobs would wait otherwise, with the penalty of each that this makes late.
/// `options.waiting_cost` is not asked.
[[nodiscard]] ReconfigureDecision weigh_every_loss(Instant now, std::span<const ActiveJob> active,
                                                   std::span<const WaitingJob> waiting,
                                                   const ReconfigureOptions& options);

}  // namespace cleave
