#pragma once
// A job as the daemon keeps it: what was asked for, what has become of it, and every attempt to run
// it. Plain values: the loop changes them, the store keeps them, the API shows them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "model/request.hpp"
#include "runner/launch.hpp"

namespace cleave {

/// Jobs count from 1, in the order of submission, and no number is ever used again.
using JobNumber = std::int64_t;

enum class JobState : std::uint8_t {
  queued,
  starting,
  running,
  stopping,
  finished,
  failed,
  cancelled
};
std::string_view name(JobState state);
[[nodiscard]] std::optional<JobState> parse_job_state(std::string_view name);
/// Nothing more will become of it.
constexpr bool is_final(JobState state) {
  return state >= JobState::finished;
}

/// On whose behalf, as it was when the job was submitted.
struct JobOwner {
  std::uint32_t uid = 0, gid = 0;
  std::vector<std::uint32_t> groups;  // supplementary
  std::string user;                   // the name, for people; may be empty
  friend bool operator==(const JobOwner&, const JobOwner&) = default;
};

/// What is run. The heavy part of a job: it lies in the store and is read when the job starts.
struct JobCommand {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value", the whole of it
  std::string working_directory;         // absolute
  friend bool operator==(const JobCommand&, const JobCommand&) = default;
};

/// What was asked for; never changes.
struct JobSpec {
  std::string name;
  Request request;            // a profile, a size or nothing; a model has become a size by now
  std::string asked;          // in words: "2g.10gb", "9 GiB", "Llama-3-8B: 18.2 GiB", "nothing"
  std::int64_t priority = 0;  // higher first among those that wait
  std::optional<Duration> deadline;  // after submission
  std::int64_t retries = 0;          // how often it is run again when it fails by itself or is lost
  bool restartable = false;          // may be stopped and run again from the beginning
  bool movable = false;              // a replica may take over elsewhere while it runs
  int checkpoint_signal = 0;         // sent before it is stopped to be restarted; 0: none
  Duration checkpoint_grace{};       // from that signal to TERM
  Duration stop_grace = std::chrono::seconds(30);  // from TERM to KILL
  std::optional<int> out_of_memory_code;           // its exit status when its memory ran out
  std::optional<std::string>
      application;  // jobs of one application have one profile of performance
  std::optional<std::int64_t> batch;
  std::optional<Duration>
      expected;  // its run time on the whole GPU under MIG, where the user knows it
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

struct JobRecord {
  JobNumber number = 0;
  JobOwner owner;
  JobSpec spec;
  Instant submitted{};  // wall clock, as all times of records
  JobState state = JobState::queued;
  std::string reason;            // in words, why it is there; empty where there is nothing to say
  std::optional<int> exit_code;  // of the attempt that ended it; 128 + signal where a signal did
  std::optional<Instant> ended;  // for good
  std::int64_t attempts = 0;     // started so far
  std::int64_t failures = 0;     // attempts that count against `retries`
  Request request;         // what it asks for now: what was asked for, or more, as has been learned
  bool cancelled = false;  // somebody asked for it
  std::vector<Instant> early_restarts;  // of the last day
  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

/// Why an attempt is over.
enum class AttemptEnd : std::uint8_t {
  ended_itself,  // well or badly: the exit code tells
  out_of_memory,
  early_restart,  // before its memory would have run out
  made_room,      // the scheduler needed its place, or moves it
  moved,          // a replica took over
  cancelled,
  lost,  // its GPU, its instance or its supervisor is gone
  not_started,
};
std::string_view name(AttemptEnd end);
[[nodiscard]] std::optional<AttemptEnd> parse_attempt_end(std::string_view name);

/// One run of a job, on one instance.
struct AttemptRecord {
  JobKey key;
  std::string gpu;      // UUID
  std::string device;   // what CUDA_VISIBLE_DEVICES is: the instance's MIG UUID, or the GPU's where
                        // it has it whole
  std::string profile;  // of the instance; empty on a whole GPU
  std::int64_t start = 0;  // its first memory slice
  Instant started{};       // was decided and about to be done
  std::optional<Instant> began, ended;
  std::optional<AttemptEnd> end;  // also before `ended`: what it is being stopped for
  std::string why;                // in words
  std::optional<int> exit_code;
  std::optional<MiB> peak;  // the most that it reported as allocated
  friend bool operator==(const AttemptRecord&, const AttemptRecord&) = default;
};

/// An instance that the daemon made.
struct InstanceRecord {
  std::string device, gpu, profile;  // MIG UUID, GPU's UUID, profile name
  std::int64_t start = 0;
  Instant made{};
  std::optional<Instant> gone;
  friend bool operator==(const InstanceRecord&, const InstanceRecord&) = default;
};

/// What happened, for people and programs that follow. Numbered from 1 without a gap.
struct EventRecord {
  std::int64_t number = 0;
  Instant at{};
  std::string kind;  // "job-submitted", "job-started", "instance-created", "gpu-lost", ...
  std::optional<JobNumber> job;  // and whose it is:
  std::optional<std::uint32_t> uid;
  std::string gpu;   // UUID; may be empty
  std::string text;  // one line for people
  friend bool operator==(const EventRecord&, const EventRecord&) = default;
};

}  // namespace cleave
