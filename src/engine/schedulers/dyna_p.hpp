#pragma once
// `dyna-p`: placement-aware dynamic partitioning (*Dyna-P*, section 3, Algorithms 1 to 3; readings
// D1 to D18).
//
// Jobs wait by priority, then by deadline, then by arrival. The first of them - a window - are each
// given the partition that serves them best and a predicted time there, on every GPU model
// (partition_choice.hpp, job_window.hpp). When something has changed, the GPUs are looked at from
// the fullest that has room, and each gets the batch of jobs of the window, at most W, with the
// highest system throughput (batch_search.hpp). Idle instances are merged and split for it
// (arrange.hpp). No turn is promised within the window, but a job that has waited longest is
// overtaken a bounded number of times: then a place is kept free for it (kept_place.hpp).
//
// Running jobs are stopped only when no GPU of the fleet can take any job of the window as it is.
// Then every batch that fits a GPU by slices, and has a layout if the GPU's jobs start over on it,
// is weighed against waiting (last_resort.hpp, reconfigure_last.hpp). A job for which others would
// be stopped although a GPU has another partition on which it is in time makes do with that one.
//
// `layout=inside` (default) searches only batches that have a layout around the running jobs;
// `layout=after` searches by slice counts alone, as Algorithm 3 is printed, and a GPU whose best
// batch has no layout takes none.
//
// `oracle` is the same with true times, as the paper's ORACLE has them. What the paper leaves open:
// alpha is five seconds, which its Figure 7 suggests; beta and the penalty are zero, lambda a half;
// predicted times of `dyna-p` are off by up to a tenth, about what is left when a job was measured
// on two profiles. The paper as printed is
// `base=own;losses=largest;window=all;overtakes=any`; the defaults differ where measurements were
// clear (docs/schedulers.md).
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
