#pragma once
// The past jobs of a daemon: asked of it, or from a file with what `cleave ps --all --json`
// printed.

#include <string>
#include <vector>

#include "base/result.hpp"
#include "simulate/advice/past_jobs.hpp"

namespace cleave::cli {

/// The word for asking the daemon itself.
inline constexpr const char* ask_the_daemon = "daemon";

/// `source`: a file, - for standard input, or `ask_the_daemon`, at `socket` if that is not empty.
[[nodiscard]] Result<std::vector<PastJob>> read_history(const std::string& source,
                                                        const std::string& socket);

/// The GPUs that the daemon manages, empty.
[[nodiscard]] Result<FleetFile> fleet_of_daemon(const std::string& socket,
                                                const std::string& profiles);
/// The scheduler that the daemon runs now, as --scheduler names it.
[[nodiscard]] Result<std::string> scheduler_of_daemon(const std::string& socket);

}  // namespace cleave::cli
