#pragma once
// `full-gpu`: the baseline of every paper. MIG is off, each GPU runs one job at a time with all its
// processors, first come first served, on the lowest free GPU whose model can take the request. Idle
// instances that the fleet shows are destroyed before a GPU is used whole; GPUs on which others or the
// fleet's own work sit are left alone.

#include "engine/scheduler.hpp"

namespace cleave {

Result<std::unique_ptr<Scheduler>> make_full_gpu(const SchedulerSetup& setup, const OptionTexts& options);

}  // namespace cleave
