#pragma once
// The start of cleave-supervise: what it checks before it begins its job. It stays the daemon's
// user, so that the job's user can neither stop nor end it; only the job's process becomes that one
// (job_user.hpp).

#include <cstdint>
#include <string>

namespace cleave {

/// Descriptors that the daemon leaves open for it: the connection to the daemon, and the lock of
/// the job's folder.
inline constexpr int connection_descriptor = 3, lock_descriptor = 4;

/// Runs the supervisor. `directory` is the attempt's folder, STATE/jobs/12.1, its last part as from
/// directory_name. `descriptors` is the soft limit of open files for it and the job; 0 leaves it.
/// Returns the exit code of the program: 0 if the attempt has ended and is recorded, 1 if nothing
/// was started; then the daemon learns the reason over the connection.
int supervise(const std::string& directory, std::uint64_t descriptors);

}  // namespace cleave
