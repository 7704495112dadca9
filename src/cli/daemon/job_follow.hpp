#pragma once
// `cleave submit --follow`: a job's outputs as they come, until it is over, with a way to end it by
// Ctrl-C.

#include <chrono>
#include <cstdint>

#include "cli/daemon/daemon_client.hpp"

namespace cleave::cli {

/// Standard output of the job to standard output, its standard error to standard error, through all
/// its attempts; the exit code of the job. On Ctrl-C the terminal is asked whether the job is to be
/// cancelled; without a terminal, or where the answer is no, the job goes on, a line says how to
/// end it, and the exit code is 128 + the signal.
[[nodiscard]] Result<int> follow_job(const DaemonOptions& options, std::int64_t job,
                                     std::chrono::seconds patience, bool raw);

}  // namespace cleave::cli
