#pragma once
// A job as the daemon keeps it: what was asked for, what has become of it, and every attempt to run
// it. Plain values: the loop changes them, the store keeps them, the API shows them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "model/job_spec.hpp"
#include "model/job_state.hpp"
#include "model/time_source.hpp"
#include "runner/launch.hpp"

namespace cleave {

/// Jobs count from 1, in the order of submission, and no number is ever used again.
using JobNumber = std::int64_t;

/// On whose behalf, as it was when the job was submitted.
struct JobOwner {
  std::uint32_t uid = 0, gid = 0;
  std::vector<std::uint32_t> groups;  // supplementary
  std::string user;                   // the name, for people; may be empty
  friend bool operator==(const JobOwner&, const JobOwner&) = default;
  /// By what schedulers tell users apart.
  [[nodiscard]] std::string name_or_number() const {
    return user.empty() ? std::to_string(uid) : user;
  }
};

template <>
inline constexpr auto fields_of<JobOwner> = std::tuple{
    field("uid", &JobOwner::uid, {.always_stored = true}),
    field("gid", &JobOwner::gid, {.always_stored = true}),
    field("groups", &JobOwner::groups),
    field("user", &JobOwner::user),
};

/// What a client calls a submission, so that it may send it again where no answer came: one
/// submission of a user is taken with it. Kept as long as the job is.
struct SubmissionKey {
  std::string text;
  std::int64_t content = 0;  // a sum of what was submitted: another submission has another
  friend bool operator==(const SubmissionKey&, const SubmissionKey&) = default;
};

/// What a job has used of the GPUs' energy (docs/energy.md).
struct JobEnergy {
  std::optional<std::int64_t> millijoules;  // empty: no counter was read while it ran
  Duration unmetered{};  // for how long it had instances or GPUs of which no counter was read
  void add(const JobEnergy& more) {
    if (more.millijoules) millijoules = millijoules.value_or(0) + *more.millijoules;
    unmetered += more.unmetered;
  }
  friend bool operator==(const JobEnergy&, const JobEnergy&) = default;
};

/// A job and what has become of it so far; or a further process of a job of several places, or a
/// further replica of a service, which has a record of its own. Their numbers follow that of the
/// job, by rank, which is also that of the first. Processes are placed, started and ended together;
/// a replica is a job of its own to all but people.
struct JobRecord {
  JobNumber number = 0;
  JobNumber leader = 0;  // of a further process or replica: its job
  JobOwner owner;
  JobSpec spec;
  std::optional<SubmissionKey> key;  // of the first process or replica, where the client gave one
  Instant submitted{};               // wall clock, as all times of records
  JobState state = JobState::queued;
  std::string reason;            // in words, why it is there; empty where there is nothing to say
  std::optional<int> exit_code;  // of the attempt that ended it; 128 + signal where a signal did
  std::optional<Instant> ended;  // for good
  std::int64_t attempts = 0;     // started so far
  std::int64_t failures = 0;     // attempts that count against `retries`
  Duration used{};               // of its time limit, by attempts that are over
  Request request;         // what it asks for now: what was asked for, or more, as has been learned
  bool cancelled = false;  // somebody asked for it
  std::vector<Instant> early_restarts;  // of the last day
  std::int64_t restarts = 0;            // of a replica: because it had ended
  std::optional<Instant> promised;      // of a lease: when it came, its place was expected by then
  std::int64_t checkpoint = 0;  // the last attempt whose checkpoint command succeeded; 0: none
  JobEnergy energy;  // of all processes or replicas, at the first of them; others have none
  friend bool operator==(const JobRecord&, const JobRecord&) = default;

  /// The number by which people know the job.
  [[nodiscard]] JobNumber job() const { return leader == 0 ? number : leader; }
  [[nodiscard]] bool is_replica() const { return spec.service.has_value(); }
  [[nodiscard]] std::int64_t replicas() const { return is_replica() ? spec.service->replicas : 1; }
  /// Whether it is placed for itself, and with its further processes where it has some.
  [[nodiscard]] bool stands_alone() const { return leader == 0 || is_replica(); }
  /// The first of the processes that are placed together with it.
  [[nodiscard]] JobNumber first() const { return stands_alone() ? number : leader; }
  /// Among the processes or replicas of its job, from 0.
  [[nodiscard]] std::int64_t rank() const { return number - job(); }
  [[nodiscard]] std::int64_t places() const { return spec.request.places; }
  [[nodiscard]] bool several() const { return places() > 1; }
  /// Of several whole GPUs one process sees all, and the others are only held for it.
  [[nodiscard]] std::int64_t processes() const {
    return std::holds_alternative<WholeGpu>(spec.request.wanted) ? 1 : places();
  }
  [[nodiscard]] bool has_process() const { return is_replica() || rank() < processes(); }
};

/// Of each job, process and replica, the latest that are kept; of older ones only their number is.
inline constexpr std::int64_t most_attempts_kept = 100;

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
  bool told_to_save = false;      // or about to be: ending well, it may have work left
  std::optional<int> exit_code;
  std::optional<MiB> peak;                 // the most that it reported to hold
  std::optional<Duration> predicted;       // how long it would run, as of its start
  std::optional<TimeSource> predicted_by;  // how that was known; there with `predicted`
  std::optional<Duration> lasted;          // of its process, by a monotonic clock
  std::optional<MiB> too_large;  // what it was forecast to need, if no GPU here has as much
  friend bool operator==(const AttemptRecord&, const AttemptRecord&) = default;
};

/// An instance that the daemon made.
struct InstanceRecord {
  std::string device, gpu, profile;  // MIG UUID, GPU's UUID, profile name
  std::int64_t start = 0;
  Instant made{};
  std::optional<Instant> gone;
  std::optional<std::int64_t> energy_mj = {};  // used by jobs there; empty: nothing is known
  friend bool operator==(const InstanceRecord&, const InstanceRecord&) = default;
};

/// What happened, for people and programs that follow. Numbered from 1 without a gap.
struct EventRecord {
  std::int64_t number = 0;
  Instant at{};
  std::string kind;  // "job-submitted", "job-started", "instance-created", "gpu-lost", ...
  std::optional<JobNumber> job;  // and its user:
  std::optional<std::uint32_t> uid;
  std::string gpu;   // UUID; may be empty
  std::string text;  // one line for people
  friend bool operator==(const EventRecord&, const EventRecord&) = default;
};

}  // namespace cleave
