#pragma once
// One batch run twice: by a daemon on simulated GPUs whose instances take their time to be made,
// with real processes, and by `cleave simulate` with the same scheduler. What is longer in the
// first is what the daemon adds: its decisions, its writes, its processes.

#include <filesystem>

#include "base/result.hpp"

namespace cleave {

struct DaemonBatchOptions {
  std::filesystem::path programs;  // of cleave, cleaved and cleave-job
  std::filesystem::path folder;
  double stretch = 1;  // of the jobs' run times, which are 2 to 8 s on the whole GPU
};

struct DaemonBatchResult {
  std::size_t jobs = 0;
  double makespan_s =
      0;  // from the answer that jobs may start until the last one's end, by its record
  double simulated_s = 0;
};

[[nodiscard]] Result<DaemonBatchResult> run_daemon_batch(const DaemonBatchOptions& options);

}  // namespace cleave
