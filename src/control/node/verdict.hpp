#pragma once
// What the end of a process means, as a value: verdicts/ finds it, loop/ does it, and a job of
// several processes keeps it until all of them have ended.

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "model/job_state.hpp"

namespace cleave {

/// What becomes of a job after one of its attempts.
struct JobVerdict {
  enum class Kind : std::uint8_t {
    nothing,
    finish,           // for good: `state`, `reason`, `exit_code`
    wait_again,       // it was not at fault; after `delay`
    retry,            // as wait_again, and it takes one of the job's retries
    larger_instance,  // it waits for an instance with more memory
    carry_on,         // it waits, or starts elsewhere, already
    start_later,      // after `delay`
    start_again,      // a replica that ended: after `delay`, at its place
    rebuild,          // the engine no longer knows what runs
  };
  Kind kind = Kind::nothing;
  JobState state = JobState::queued;
  std::string reason = {};
  std::optional<int> exit_code = {};
  Duration delay = {};
  int short_of = 0;             // why it starts later: the error number of a shortage of the host
  std::int64_t quick_ends = 0;  // of what runs again: with this one
  bool remembers_need = false;  // what the attempt held is kept for later runs
  friend bool operator==(const JobVerdict&, const JobVerdict&) = default;
};

/// How an attempt is recorded, and what becomes of its job.
struct AttemptVerdict {
  AttemptEnd end = AttemptEnd::ended_itself;  // where no reason to stop it is recorded already
  std::string why;
  std::optional<int> exit_code;
  JobVerdict job;
  std::optional<Duration> lasted = {};  // of its process
  bool checkpointed = false;            // by its checkpoint command
};

/// A process that has ended while others of its job run.
struct EndedProcess {
  AttemptVerdict verdict;
  Instant at{};  // wall clock
};

}  // namespace cleave
