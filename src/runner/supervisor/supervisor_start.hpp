#pragma once
// How the daemon starts a supervisor: a folder that appears complete and locked, and a process that
// inherits the lock, so that two programs never believe that they own the same attempt.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "runner/descriptor.hpp"
#include "runner/launch.hpp"
#include "runner/shortage.hpp"

namespace cleave {

/// The folder of a new attempt, with its launch, and its lock held.
struct NewJobFolder {
  Descriptor folder, lock;
};
/// Creates the folder; fails if its name is taken. On failure errno says why, and is 0 where it was
/// not the system that refused.
[[nodiscard]] Result<NewJobFolder> make_job_folder(int jobs, const Launch& launch);

/// A supervisor that has been begun.
struct StartedSupervisor {
  pid_t pid = 0;
  Descriptor connection;
};
/// Begins a supervisor, which says over its connection that it is ready, or why it is not.
/// `descriptors` is the soft limit of open files for it and its job; 0: that of this process.
[[nodiscard]] std::expected<StartedSupervisor, NotStarted> start_supervisor(
    const std::string& program, const std::string& directory, const Descriptor& lock,
    std::uint64_t descriptors);

/// Connects to the supervisor of this folder. Fails at once if nothing listens there, or a process
/// that was not of this process's user when it began to listen.
[[nodiscard]] Result<Descriptor> connect_to_supervisor(int folder);

}  // namespace cleave
