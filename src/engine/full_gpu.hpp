#pragma once
// `full-gpu`: the baseline of every paper. MIG is off, each GPU runs one job at a time with all its
// processors, first come first served, on the lowest free GPU whose model can take the request. GPUs on which
// the fleet shows instances are left alone.

#include "engine/scheduler.hpp"

namespace cleave {

Result<std::unique_ptr<Scheduler>> make_full_gpu(const Fleet& fleet, const RequestTable& requests,
                                                 const OptionTexts& options);

}  // namespace cleave
