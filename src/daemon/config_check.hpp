#pragma once
// What `cleaved --check-config` looks at beside the file itself: whether what it names is on this
// machine.

#include <string>
#include <vector>

#include "base/result.hpp"
#include "daemon/config.hpp"

namespace cleave {

/// All that is wrong: groups that are not there, files of applications that cannot be read, a
/// library that is not NVML, and a folder for jobs that cannot be made. Nothing is made, and no GPU
/// is asked. Errors are of kind bad_input.
[[nodiscard]] std::vector<Error> check_on_this_machine(const DaemonSettings& settings);
/// Of reservations for names that neither a user nor a group has.
[[nodiscard]] std::vector<std::string> reservation_remarks(const DaemonSettings& settings);

}  // namespace cleave
