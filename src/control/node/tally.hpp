#pragma once
// What has happened since the loop began, counted where it happens. For monitoring, which looks
// from time to time and sees the difference: nothing decides by it, nothing of it is stored, and it
// begins anew with each daemon. A plain value, whose size does not depend on jobs or users.

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "base/time_counts.hpp"
#include "control/usage_record.hpp"
#include "model/job_state.hpp"
#include "model/live_plan.hpp"

namespace cleave {

/// Of what a program computes or writes: from 50 microseconds to seconds.
inline constexpr double computing_bounds_s[] = {0.00005, 0.0001, 0.00025, 0.0005, 0.001,
                                                0.0025,  0.005,  0.01,    0.025,  0.05,
                                                0.1,     0.25,   0.5,     1,      2.5};
/// Of what a driver does to a GPU: creating an instance takes an A100 a quarter of a second.
inline constexpr double change_bounds_s[] = {0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
/// Of a job's life: from a second to a week.
inline constexpr double job_bounds_s[] = {1,    5,     15,    60,    300,   900,    1800,
                                          3600, 10800, 21600, 43200, 86400, 259200, 604800};

/// Counts of one kind of instance changes.
struct ChangeTally {
  std::int64_t done = 0, refused = 0;
  TimeCounts took{change_bounds_s};  // of those that were done and measured
};

/// The counts.
struct Tally {
  std::int64_t submitted = 0;
  std::array<std::int64_t, job_state_names.size()> jobs_ended{};  // by JobState; final ones only
  std::int64_t attempts_begun = 0;
  std::array<std::int64_t, attempt_end_names.size()> attempts_ended{};  // by AttemptEnd
  std::int64_t moves = 0;               // attempts that ended so that the job goes on elsewhere
  TimeCounts waited{job_bounds_s};      // from submission until its first process began
  TimeCounts turnaround{job_bounds_s};  // from submission to the end of jobs that have finished
  ChangeTally created, destroyed;
  std::array<std::int64_t, plan_state_names.size()> plans_ended{};  // by PlanState
  /// Millijoules by GPU, its UUID, and UseKind.
  std::map<std::string, std::array<std::int64_t, use_kind_names.size()>> energy;
};

}  // namespace cleave
