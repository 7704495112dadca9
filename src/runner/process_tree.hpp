#pragma once
// The processes of a job, found in /proc without control groups. While its supervisor lives they
// are all its descendants, since it adopts what loses its parent. When it was killed, they are
// known by the mark in their environment, by the session of the job's first process, and as
// descendants of one of these. What has thrown away its environment, left its session and lost its
// parents is not found after that.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace cleave {

struct ProcessFacts {
  pid_t pid = 0, parent = 0, group = 0, session = 0;
  std::uint64_t started = 0;  // ticks of the system's clock after it started
  bool zombie = false;
};

/// The environment variable that marks every process of one attempt.
inline constexpr const char* mark_variable = "CLEAVE_JOB_MARK";

/// By what the processes of an attempt are known that has no supervisor any more.
struct JobMark {
  std::string text;                   // value of the variable
  uid_t uid = 0;                      // only this user's processes are believed
  pid_t session = 0;                  // of the job's first process; 0: not known
  std::uint64_t session_started = 0;  // when that process was
};

[[nodiscard]] std::vector<ProcessFacts> all_processes();
/// Nothing where it is gone.
[[nodiscard]] std::optional<ProcessFacts> facts_of(pid_t pid);

/// All below `root`, without it and without what has ended.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t root,
                                                std::span<const ProcessFacts> processes);

/// Alive and of one of these; what this process may not look at is not found.
[[nodiscard]] std::vector<ProcessFacts> find_leftovers(std::span<const JobMark> marks);

/// KILL for all that is found, again and again until nothing is; how many they were. Fails where
/// some are still there when the patience is over.
[[nodiscard]] Result<std::int64_t> end_leftovers(
    std::span<const JobMark> marks, std::chrono::milliseconds patience = std::chrono::seconds(5));

}  // namespace cleave
