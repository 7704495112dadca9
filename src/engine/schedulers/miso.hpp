#pragma once
// `miso`: measure each new job first, then give the GPU the partition of the greatest predicted
// speed. After MISO (Li et al., SoCC 2022), of which only the abstract and what others say of it
// was at hand.
//
// What the sources say:
//   - speeds on MIG instances are predicted from a run under MPS (MISO's abstract), which a new job
//   shares
//     with others on one instance (MIGM, 6) and which takes about 30 s (the overhead in the
//     authors' data);
//   - the partition is chosen again each time a job arrives (MIGM, 6; *Dyna-P*, 4.1), and the GPU's
//   active
//     jobs are all checkpointed and then restored on their new instances (MIGM, 6);
//   - among GPUs the load is balanced (*Dyna-P*, 5); jobs may also come already measured (*Dyna-P*,
//   4).
// What is assumed here:
//   - jobs are taken first come first served. A job goes to the GPU with the fewest jobs (ties: the
//   lowest
//     number) of those on which some legal layout holds its jobs and the new one, each on an
//     instance of its own; one that fits on none waits, and no job overtakes it;
//   - jobs run together while measured on the largest instance that can be made there and holds
//   them all:
//     the whole GPU where nothing of others is in the way. A job that is alone on its GPU is
//     measured alone. Where no instance holds all, nothing is measured. A GPU that measures takes
//     no further job; jobs that come to it at one instant are measured together. The measuring
//     lasts from the restoration of the jobs, or where none had to be checkpointed from the
//     decision; it ends early when no new job is left in it;
//   - the prediction is right but for `speed-error`: speed on an instance over that on the largest
//   profile.
//     For jobs of unknown times it follows the SMs, or the compute slices;
//   - a partition is changed without need, after a departure, only where the sum of predicted
//   speeds grows
//     by more than `gain`. By default 0.05: a checkpoint of 30 s is paid back in ten minutes;
//   - "all active jobs" are those of that GPU, and only when an instance has to be made or a
//   running job
//     moves: a new job that fits an idle instance disturbs none. Instances that the new partition
//     has too are not made again; others of the fleet's own and walls are never touched.
//   - a job that is adopted on an instance of its own counts as measured; those that share one are
//   measured
//     there from now on. Where no partition holds an adopted job beside those before it, the GPU
//     takes no work until it has ended.
// Jobs that ran out of memory come back through the engine, with a larger request.

#include "engine/scheduler.hpp"

namespace cleave {

std::span<const OptionRow> miso_options();
Result<std::unique_ptr<Scheduler>> make_miso(const SchedulerSetup& setup,
                                             const OptionTexts& options);

}  // namespace cleave
