#pragma once
// `cleave bench daemon`: what the daemon does in a second, how soon a job begins, what memory it
// takes, and what it adds to the time of a batch. Each part has a `cleaved` of its own, a process
// on simulated GPUs with its state on a disk, asked over its socket as any client asks it. Nothing
// in it is switched off: the audit is written, answers mean that the submission is synced.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace cleave {

struct DaemonBenchOptions {
  std::filesystem::path programs;  // of cleave, cleaved and cleave-job
  std::filesystem::path folder;    // on the disk that the state is to be on
  std::size_t jobs = 10'000, connections = 50, subscribers = 200;
  std::size_t starts = 200;  // jobs whose start is timed
  double batch_seconds = 1;  // by which the batch's jobs are stretched; 0: no batch
};

struct TimeSpread {
  double median_ms = 0, p95_ms = 0, most_ms = 0;
};

struct DaemonBench {
  // The disk: 4 KiB appended to a file and synced, as each submission asks for in the end.
  std::string file_system;  // "ext4"
  TimeSpread disk_sync;

  // Submissions over `connections`, each sent when the answer before it on its connection has come.
  std::size_t jobs = 0, connections = 0;
  double submits_per_s = 0;
  TimeSpread submit, submit_alone;  // from question to answer; alone: one connection, 200 of them

  // With all of them queued.
  double list_first_byte_ms = 0, list_last_byte_ms = 0,
         list_mib = 0;               // GET /v1/jobs?limit=10000; median
  double page_last_byte_ms = 0;      // GET /v1/jobs, the newest 1,000
  double ps_ms = 0, ps_page_ms = 0;  // `cleave ps`, and with --limit 1000, as processes; median
  double memory_mib = 0, most_memory_mib = 0;

  // One after the other on one instance that stands: each starts when the end of the one before is
  // heard.
  std::size_t starts = 0;
  TimeSpread start;         // from the decision to the process
  TimeSpread submit_start;  // from sending the submission to the process, the instance being idle

  // With `subscribers` of the events, of whom a quarter never read.
  std::size_t subscribers = 0, stuck = 0;
  double submits_per_s_alone = 0,
         submits_per_s_followed = 0;  // the same number without and with them

  // The same batch on the daemon and in the simulator.
  struct Batch {
    std::size_t jobs = 0;
    double makespan_s = 0, simulated_s = 0;
    [[nodiscard]] double overhead() const { return makespan_s / simulated_s - 1; }
  };
  std::optional<Batch> batch;
};

/// `tell` hears what is being measured, a line for each part.
[[nodiscard]] Result<DaemonBench> bench_daemon(const DaemonBenchOptions& options,
                                               const std::function<void(const std::string&)>& tell);

}  // namespace cleave
