#pragma once
// `adaptive`: the scheduler to pick where nothing speaks for another. It gives each batch the size
// that a slice is worth at the moment, by what is known of the job and of the queue, and changes
// its mind where that pays.
//
// What may be saved or moved is re-cut: whenever a job comes or ends, each GPU is asked for the
// layout and the jobs on it, of those that run there and a few that wait, that get most done in the
// time to come (gpu_plan.hpp). Work counts more where little is left of it, so short jobs go first;
// a job that is stopped, moved or restored does nothing meanwhile; holding an instance costs what
// the jobs that will have come would have got done on it. The GPU that gains most, and enough, is
// changed, and the next. Where no job waits, jobs move to GPUs that have become free.
//
// Where no job may be interrupted, each goes to the instance on which a slice-second is used best,
// at a price of slices that rises with the queue; among equals where least room is lost to what may
// still come. A job rather waits if it would be done earlier on a better instance that is soon
// free.
//
// How long jobs take is known, told wrongly, or seen by what they report and by the tail of those
// before them (job_ledger.hpp). What it may know and do it asks of the facts; no option says it.
//
// Jobs of several places, services and leases are served by the queue (queue/served_queue.hpp), in
// its way, and so is each job in the order of which others have a say: with fair share, deadlines,
// limits of users and GPUs set aside. So is a batch that has waited while many others started: a
// place is kept for it then, so that none waits for ever.

#include "engine/scheduler.hpp"

namespace cleave {

std::span<const OptionRow> adaptive_options();
[[nodiscard]] Result<std::unique_ptr<Scheduler>> make_adaptive(const SchedulerSetup& setup,
                                                               const OptionTexts& options);

}  // namespace cleave
