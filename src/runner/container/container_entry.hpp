#pragma once
// What the job's own process does, as the job's user, before it executes a container program:
// namespaces for its user and its mounts, in which this one user is number 0. So neither setuid
// programs nor subordinate numbers are needed, no new privileges, and all files are the user's.
// What the container program keeps lies in memory there, and is gone with the attempt's last
// process.

#include <string>

#include "base/result.hpp"
#include "runner/container/container_command.hpp"
#include "runner/launch.hpp"

namespace cleave {

/// In the user's folder of an attempt: the file that says that the job's program runs, and the
/// specification of what the container has for its instance.
inline constexpr const char *container_began_file = "container.pid",
                            *container_specification = "cdi.json";

/// `folder` is the user's folder in that of the attempt and `path` its name. Returns what this
/// process is to execute. On failure errno says why, where the system does.
[[nodiscard]] Result<ContainerCommand> enter_container(const Launch& launch, int folder,
                                                       const std::string& path,
                                                       const std::vector<std::string>& environment);

/// The process that podman began in the container, of the attempt with this user's folder; 0 as
/// long as there is none.
[[nodiscard]] pid_t began_in_container(int folder);
/// Removes what stays in the user's folder when all processes are gone.
void leave_container(int folder);

}  // namespace cleave
