#pragma once
// The jobs that a daemon has run, as a workload. What it does not know is not made up: which size a
// job needs that asked for none, and how fast it would have been on other profiles
// (assumed_speeds.hpp varies that).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/dependency.hpp"
#include "model/fleet_file.hpp"
#include "model/job.hpp"
#include "model/job_array.hpp"
#include "simulate/advice/assumed_speeds.hpp"

namespace cleave {

/// A job that has ended, as the daemon tells of it.
struct PastJob {
  std::int64_t number = 0;
  bool batch = true;                    // or a service or lease
  std::string name, application, user;  // may be empty
  std::string asks;                     // in the words of text(Request)
  std::int64_t places = 1, priority = 0;
  std::optional<Instant> submitted, started, ended;  // of its latest attempt, and for good
  std::optional<std::string> ran_on;                 // profile; `none`: the whole GPU
  std::optional<MiB> peak;                           // the most memory that it reported
  std::string state;                                 // finished, failed, ...; may be empty
  std::vector<Dependency> after = {};                // other jobs of its user
  std::optional<ArrayTask> task = {};
  std::optional<JobsAtOnce> at_once = {};  // of the request that it came with
};

/// How a job of the workload went.
struct SeenRun {
  Duration wait{}, turnaround{};  // from its submission
  std::optional<MiB> peak;
  std::string ran_on, state;  // empty where unknown
};

/// How many jobs lack something, and what is taken instead.
struct PastSizes {
  std::size_t by_peak = 0;   // asked for no size: what they reported
  std::size_t by_place = 0;  // reported nothing either: that of where they ran
  std::size_t nowhere = 0;   // where they ran is not known: the whole GPU
};

/// How many jobs waited for others, as they do again.
struct PastOrder {
  std::size_t after = 0;      // for other jobs of the history
  std::size_t elsewhere = 0;  // for jobs that are not in it: for these they do not wait
  std::size_t at_once = 0;    // are of an array, or a request, that runs only some at a time
};

/// What came of them.
struct PastWorkload {
  Workload workload;          // durations are those seen on `ran_on`
  std::vector<RanOn> ran_on;  // by job
  std::vector<SeenRun> seen;  // by job
  PastSizes sizes;
  PastOrder order;
};

/// Jobs that never ran, or have not ended, are left out with the reason. Fails where none is left.
/// Profiles are looked up among those of the fleet first. Jobs wait for one another as they did;
/// however those ended for which a job that ran had waited, it was what it had waited for.
[[nodiscard]] Result<PastWorkload> past_workload(std::span<const PastJob> jobs,
                                                 const FleetFile& fleet);

}  // namespace cleave
