#pragma once
// One batch run twice: by a daemon with real processes on simulated GPUs whose instances take time
// to be created, and by `cleave simulate` with the same scheduler. The difference is what the
// daemon adds: its decisions, its writes, its processes.

#include <filesystem>

#include "base/result.hpp"

namespace cleave {

/// How the batch is run.
struct DaemonBatchOptions {
  std::filesystem::path programs;  // of cleave, cleaved and cleave-job
  std::filesystem::path folder;
  double stretch = 1;  // of the jobs' run times, which are 2 to 8 s on the whole GPU
};

/// The same batch on the daemon and in the simulator.
struct DaemonBatchResult {
  std::size_t jobs = 0;
  /// From the answer that jobs may start to the end of the last one, as recorded.
  double makespan_s = 0;
  double simulated_s = 0;
};

[[nodiscard]] Result<DaemonBatchResult> run_daemon_batch(const DaemonBatchOptions& options);

}  // namespace cleave
