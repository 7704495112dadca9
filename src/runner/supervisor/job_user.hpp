#pragma once
// How the process that a supervisor forks becomes the job's user, and what of the daemon it leaves
// behind. The supervisor stays the daemon's user, out of reach of the job's: only its own rights in
// the file system become those of the user, in whose folder it writes.

#include <cstdint>

#include "base/result.hpp"
#include "runner/launch.hpp"

namespace cleave {

/// Sets user, group and supplementary groups of this process, irrevocably and without new
/// privileges for any program it executes, and checks the result. A process that is not root can
/// only become its own user, and keeps its supplementary groups.
[[nodiscard]] Result<void> become_user(const Launch& launch);

/// What this thread makes and opens is from now on made and opened as this user, as far as it may
/// become one; its signals and other rights stay.
[[nodiscard]] Result<void> make_files_as(std::uint32_t uid, std::uint32_t gid);

/// While it lives, files are made and opened as the daemon's user again.
class FilesAsDaemon {
 public:
  FilesAsDaemon(std::uint32_t uid, std::uint32_t gid);
  ~FilesAsDaemon();
  FilesAsDaemon(const FilesAsDaemon&) = delete;
  FilesAsDaemon& operator=(const FilesAsDaemon&) = delete;

 private:
  std::uint32_t uid_, gid_;
};

/// What this process writes no longer goes into what a file system keeps for root, nor beyond the
/// quota of a file's owner. For the supervisor, once its job has been begun.
void give_up_reserves();

/// Before become_user(), as long as this process may: how it is scheduled and when the kernel kills
/// it for memory as a daemon is become those of any process. Limits of resources stay, so that a
/// unit can give them to jobs (LimitMEMLOCK).
void forget_daemons_priorities();

}  // namespace cleave
