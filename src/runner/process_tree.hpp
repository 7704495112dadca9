#pragma once
// The processes of a job, found in /proc, where there are no control groups (control_groups.hpp).
// While the supervisor lives they are all its descendants, since it adopts orphans. After it was
// killed, they are found by the mark in their environment, by the session of the job's first
// process, and as descendants of these. A process that has discarded its environment, left its
// session and lost its parents is not found then.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// A process as /proc shows it.
struct ProcessFacts {
  pid_t pid = 0, parent = 0, group = 0, session = 0;
  std::uint64_t started = 0;  // clock ticks after boot
  bool zombie = false;
};

/// The environment variable that marks every process of one attempt.
inline constexpr const char* mark_variable = "CLEAVE_JOB_MARK";

/// What identifies the processes of an attempt without a supervisor.
struct JobMark {
  std::string text;                   // value of the variable
  uid_t uid = 0;                      // only this user's processes count
  pid_t session = 0;                  // of the job's first process; 0: unknown
  std::uint64_t session_started = 0;  // start time of that process
};

[[nodiscard]] std::vector<ProcessFacts> all_processes();
/// Empty if the process is gone.
[[nodiscard]] std::optional<ProcessFacts> facts_of(pid_t pid);

/// All live descendants of `root`.
[[nodiscard]] std::vector<ProcessFacts> descendants_of(pid_t root,
                                                       std::span<const ProcessFacts> processes);
/// False, and nothing is sent, if another process has the pid by now, or it may not be signalled.
bool send_signal(const ProcessFacts& process, int signal);

/// Live processes with one of these marks. Processes that this one may not inspect are not found.
[[nodiscard]] std::vector<ProcessFacts> find_leftovers(std::span<const JobMark> marks);

/// Sends KILL to all leftovers repeatedly until there are none, and returns their number. Fails if
/// some are left when the patience is over.
[[nodiscard]] Result<std::int64_t> end_leftovers(
    std::span<const JobMark> marks, std::chrono::milliseconds patience = std::chrono::seconds(5));

}  // namespace cleave
