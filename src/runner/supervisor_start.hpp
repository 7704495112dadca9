#pragma once
// How the daemon brings a supervisor to life: a folder that appears whole and locked, and a process that has
// the lock by inheritance, so that at no moment two could believe to own one attempt.

#include <sys/types.h>

#include <string>

#include "runner/descriptor.hpp"
#include "runner/launch.hpp"

namespace cleave {

/// A folder with launch and held lock, under its name; fails where that is taken.
struct NewJobFolder {
  Descriptor folder, lock;
};
[[nodiscard]] Result<NewJobFolder> make_job_folder(int jobs, const Launch& launch);

struct StartedSupervisor {
  pid_t pid = 0;
  Descriptor connection;
};
/// Waits until it says that it is ready, a few milliseconds. On failure it has ended.
[[nodiscard]] Result<StartedSupervisor> start_supervisor(const std::string& program,
                                                         const std::string& directory,
                                                         const Descriptor& lock);

/// Connected to the supervisor of this folder; fails at once where nobody listens.
[[nodiscard]] Result<Descriptor> connect_to_supervisor(int folder);

/// Moves the folder aside, then removes it with all that is in it; links are not followed.
[[nodiscard]] Result<void> remove_job_folder(int jobs, const std::string& jobs_path, const std::string& name);

}  // namespace cleave
