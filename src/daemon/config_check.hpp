#pragma once
// What `cleaved --check-config` looks at beside the file itself: whether what it names is on this
// machine.

#include "base/result.hpp"
#include "daemon/config.hpp"

namespace cleave {

/// Refuses groups that are not there, files of applications that cannot be read, a library that is
/// not NVML, and a folder for jobs that cannot be made. Nothing is made, and no GPU is asked.
/// Errors are of kind bad_input.
[[nodiscard]] Result<void> check_on_this_machine(const DaemonSettings& settings);

}  // namespace cleave
