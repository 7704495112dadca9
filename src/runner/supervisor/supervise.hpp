#pragma once
// From the start of cleave-supervise until it is the job's user: what it believes and what it gives
// up.

#include <cstdint>
#include <string>

namespace cleave {

/// Descriptors that the daemon leaves open for it: their connection, and the lock of the job's
/// folder.
inline constexpr int connection_descriptor = 3, lock_descriptor = 4;

/// `directory` is the job's folder, STATE/jobs/12.1, its last part a name as directory_name gives
/// it. The exit code of the program: 0 when the attempt is over and recorded, 1 when nothing was
/// started; why, the daemon is told over their connection. `descriptors` is the soft limit of these
/// for it and the job; 0: as it is.
int supervise(const std::string& directory, std::uint64_t descriptors);

}  // namespace cleave
