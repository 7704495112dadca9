#pragma once
// `scheme-b`: jobs strictly in order, each on the tightest instance (*Managing Multi Instance
// GPUs*, 4.3, scheme B; reading M20). For the job at the head of the queue, in this order:
//
//   1. an idle instance of its tightest memory size;
//   2. a new instance in space that no instance covers, where most future configurations stay
//   reachable;
//   3. the same after destroying idle instances - merging or splitting them -, the fewest first;
//   4. otherwise it waits for a job to end, and everybody behind it.
//
// A larger idle instance is not used. Reachability is that of all instances that remain, idle ones
// too. The paper has one GPU; with several, steps 1 and 2 take the lowest that can, step 3 the one
// where the fewest instances go, lowest first.
//
// A job that is adopted stays on the instance that it has, whatever its size. When it ends, the
// instance is idle, and is reused, merged or split as any other.

#include "engine/scheduler.hpp"

namespace cleave {

std::span<const OptionRow> scheme_b_options();
Result<std::unique_ptr<Scheduler>> make_scheme_b(const SchedulerSetup& setup,
                                                 const OptionTexts& options);

}  // namespace cleave
