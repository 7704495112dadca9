#pragma once
// How the daemon brings a supervisor to life: a folder that appears whole and locked, and a process
// that has the lock by inheritance, so that at no moment two could believe to own one attempt.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
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
struct SupervisorStart {
  /// The soft limit of descriptors that it and its job begin with; 0: as it is here.
  std::uint64_t descriptors = 0;
  std::chrono::steady_clock::duration patience = std::chrono::seconds(10);
};
/// Waits until it says that it is ready, a few milliseconds. On failure it has ended; where it had
/// begun by then, may_have_begun() tells.
[[nodiscard]] Result<StartedSupervisor> start_supervisor(const std::string& program,
                                                         const std::string& directory,
                                                         const Descriptor& lock,
                                                         const SupervisorStart& how = {});

/// Connected to the supervisor of this folder; fails at once where nobody listens, or somebody who
/// was not of this process's user when he began to.
[[nodiscard]] Result<Descriptor> connect_to_supervisor(int folder);

}  // namespace cleave
