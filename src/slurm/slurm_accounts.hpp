#pragma once
// What Slurm's accounting says of jobs with instances that have ended: `sacct -P`.

#include "slurm/slurm_records.hpp"

namespace cleave {

/// A job of the past. Of a job that was put back in the queue the last run, which sacct lists.
struct AccountedJob {
  std::int64_t number = 0;
  std::string shown, user;  // "12_3"
  std::string state;        // COMPLETED, FAILED, CANCELLED, TIMEOUT, ...
  std::optional<Instant> submitted, started, ended;
  std::string profile;         // of its instances; empty: whole GPUs
  std::int64_t instances = 0;  // or GPUs
};

/// The word behind `sacct -a -X -P -n -o`, for what parse_sacct reads; times as
/// SLURM_TIME_FORMAT=%s has them.
[[nodiscard]] std::string sacct_columns();

/// Jobs with instances or GPUs; how many had instances of several profiles, which are left out, and
/// how many lines could not be read.
struct AccountedJobs {
  std::vector<AccountedJob> jobs;
  std::size_t several = 0, unreadable = 0;
};
/// Both gres/mig:3g.20gb and gres/gpu:a100_3g.20gb count as instances.
[[nodiscard]] AccountedJobs parse_sacct(std::string_view text);

}  // namespace cleave
