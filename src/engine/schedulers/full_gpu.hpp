#pragma once
// `full-gpu`: the baseline of every paper. MIG is off, each GPU runs one job at a time with all its
// processors, first come first served, on the lowest free GPU whose model can take the request.
// Idle instances that the fleet shows are destroyed before a GPU is used whole; GPUs on which
// others or the fleet's own work sit are left alone.
//
// A job that is adopted on an instance, a part of its GPU, keeps that: the GPU is used whole, and
// all its instances destroyed, when the last such job has ended. One that is adopted on a whole GPU
// is as any other.

#include "engine/scheduler.hpp"

namespace cleave {

Result<std::unique_ptr<Scheduler>> make_full_gpu(const SchedulerSetup& setup,
                                                 const OptionTexts& options);

}  // namespace cleave
