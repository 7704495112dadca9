#pragma once
// How many CPUs and how much memory of this machine a process and those that it starts may use:
// what the machine has, the CPUs on which it may run, and the limits of its control groups, of
// version 1 or 2, up to the root of what is mounted.

#include <string_view>

#include "model/host_share.hpp"

namespace cleave {

/// What the limits of control groups leave. A limit that is not there, or cannot be read, is none.
/// `mounts` and `groups` are /proc/PID/mountinfo and /proc/PID/cgroup.
[[nodiscard]] HostAsk limits_of_groups(std::string_view mounts, std::string_view groups);

/// Of this process. What cannot be found out is empty.
[[nodiscard]] HostAsk host_capacity();

}  // namespace cleave
