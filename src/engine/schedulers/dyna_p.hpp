#pragma once
// `dyna-p`: placement-aware dynamic partitioning (*Dyna-P*, section 3, Algorithms 1 to 3; readings
// D1 to D18).
//
// When a job comes it is given, for each GPU model, the partition that serves its batch best and a
// predicted time there (partition_choice.hpp). When something has changed, the GPUs are looked at
// from the fullest that has room, and each gets the batch of waiting jobs, at most W, with the
// highest system throughput (batch_search.hpp). Idle instances are merged and split for it
// (arrange.hpp). Jobs run again from the beginning only as a last resort: where a batch would fit
// by slices and by no change of idle instances, the GPU is repartitioned and its jobs started
// again, if stopping costs no more than waiting (reconfigure_last.hpp) and all of them may be
// restarted.
//
// `layout=inside` (default) searches only batches that have a layout around the running jobs, and
// thinks of reconfiguring when there is none; `layout=after` searches by slice counts alone, as
// Algorithm 3 is printed, and thinks of reconfiguring when the best batch has no layout. Jobs are
// taken by priority, then by deadline, then by arrival. No turn is promised: a batch of small jobs
// can go before a large one again and again.
//
// `oracle` is the same with true times, as the paper's ORACLE has them. What the paper leaves open:
// alpha is five seconds, which its Figure 7 suggests; beta and the penalty are zero, lambda a half;
// predicted times of `dyna-p` are off by up to a tenth, about what is left when a job was measured
// on two profiles. A job that would miss its deadline everywhere is given the largest partition.
//
// A job that is adopted is taken to have been given the partition that it has, and counts among the
// active jobs of its GPU: when it may be restarted, a reconfiguration may stop it. It has been
// running since JobFacts say so, otherwise since it was adopted.

#include "engine/scheduler.hpp"

namespace cleave {

std::span<const OptionRow> dyna_p_options();
std::span<const OptionRow> oracle_options();
Result<std::unique_ptr<Scheduler>> make_dyna_p(const SchedulerSetup& setup,
                                               const OptionTexts& options);
Result<std::unique_ptr<Scheduler>> make_oracle(const SchedulerSetup& setup,
                                               const OptionTexts& options);

}  // namespace cleave
