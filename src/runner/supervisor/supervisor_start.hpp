#pragma once
// How the daemon starts a supervisor: a folder that appears complete and locked, and a process that
// inherits the lock, so that two programs never believe that they own the same attempt.

#include <sys/types.h>

#include <chrono>
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

/// A supervisor that is ready.
struct StartedSupervisor {
  pid_t pid = 0;
  Descriptor connection;
};
/// Limits for the start of a supervisor.
struct SupervisorStart {
  /// The soft limit of open files for it and its job; 0: that of this process.
  std::uint64_t descriptors = 0;
  std::chrono::steady_clock::duration patience = std::chrono::seconds(10);
};
/// Waits until the supervisor says that it is ready, a few milliseconds. On failure it has ended;
/// may_have_begun() says whether its job had started by then.
[[nodiscard]] std::expected<StartedSupervisor, NotStarted> start_supervisor(
    const std::string& program, const std::string& directory, const Descriptor& lock,
    const SupervisorStart& how = {});

/// Connects to the supervisor of this folder. Fails at once if nothing listens there, or a process
/// that was not of this process's user when it began to listen.
[[nodiscard]] Result<Descriptor> connect_to_supervisor(int folder);

}  // namespace cleave
