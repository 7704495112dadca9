#pragma once
// What the operator sets for the control loop, as typed values. daemon/config.hpp reads them from
// the configuration file; a reload replaces them, except the scheduler.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "base/time.hpp"
#include "model/compaction_rules.hpp"
#include "model/default_scheduler.hpp"
#include "model/user_limits.hpp"
#include "runner/container/container_runtimes.hpp"

namespace cleave {

class ApplicationTimes;

/// A GPU that the operator set aside (model/gpu_reservation.hpp), on the wall clock.
struct ReservedGpu {
  std::string gpu;  // its index or UUID
  Instant from{}, until{};
  std::string name;  // of a user; empty: no job starts
  friend bool operator==(const ReservedGpu&, const ReservedGpu&) = default;
};

/// How long a job that is cancelled has from TERM to KILL.
enum class CancelGrace : std::uint8_t {
  of_job,       // what it was submitted with
  of_operator,  // no longer than ControlSettings::operators_grace
  at_once,
};

/// Shares of a file system that are to be free.
struct DiskMarks {
  double forget = 0.10;  // below it the oldest ended jobs go before their time
  double refuse = 0.05;  // below it no job is accepted
  friend bool operator==(const DiskMarks&, const DiskMarks&) = default;
};

/// The loop's settings, with their defaults.
struct ControlSettings {
  /// Used unless another scheduler was chosen while the daemon ran; the store keeps that choice.
  std::string scheduler{default_scheduler};
  std::string forecaster = "laws";
  std::int64_t early_restarts_a_day = 10;  // of one job
  std::size_t most_waiting = 100'000;      // unfinished jobs; more are refused
  /// From TERM to KILL, at most, of a job that an operator cancels and that is another user's.
  Duration operators_grace = std::chrono::seconds(30);
  Duration look_every = std::chrono::seconds(5);     // at each GPU
  Duration gpu_patience = std::chrono::seconds(60);  // until a silent driver counts as hung
  std::optional<Duration> keep_idle;                 // empty: until their room is needed
  std::int64_t log_limit = 64 << 20;                 // bytes of each output of an attempt
  std::int64_t job_processes = 16'384;               // of one attempt, with threads; 0: no limit
  MiB job_memory{};                                  // of the host, of one attempt; 0: no limit
  std::optional<double> host_cpus;  // for all jobs; empty: as many as the daemon may use
  std::optional<MiB> host_memory;   // likewise
  Duration keep_jobs = std::chrono::hours(24 * 7);   // final jobs and their outputs
  std::int64_t keep_bytes = std::int64_t{10} << 30;  // of outputs of final jobs, all users
  /// Of all that one user's jobs keep; 0: no limit.
  std::int64_t keep_per_user = std::int64_t{2} << 30;
  /// Of the folder of a running attempt, beside its outputs; 0: no limit.
  std::int64_t job_files = std::int64_t{1} << 30;
  DiskMarks disk_marks;
  std::size_t keep_events = 100'000;
  std::int64_t keep_usage_days = 400;  // of what users had; 0: for ever
  std::size_t keep_profiles = 10'000;  // records of what jobs taught of their applications
  /// The operator's profile repository and trained model; null: neither.
  std::shared_ptr<const ApplicationTimes> applications;
  std::vector<ReservedGpu> reservations;      // those of one GPU do not overlap
  UserLimits user_limits;                     // of each user, operators included
  std::optional<CompactionRules> compaction;  // empty: no job moves unless an operator says so
  bool may_switch_mig = true;                 // as the executor was told
  /// Whether an idle instance is given to another user's job as it is; else it is made anew first.
  bool reuse_across_users = false;
  std::string boot;                          // differs after each start of the machine
  std::vector<int> out_of_memory_codes;      // exit statuses that mean it, for all jobs
  std::vector<std::string> job_environment;  // "NAME=value" that every job gets besides its own
  ContainerRuntimes containers;              // what this machine has for jobs with an image
};

}  // namespace cleave
