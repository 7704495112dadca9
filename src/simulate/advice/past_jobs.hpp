#pragma once
// The jobs that a daemon has run, as a workload. What it does not know is not made up: which size a
// job needs that asked for none, and how fast it would have been on other profiles
// (assumed_speeds.hpp varies that).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/fleet_file.hpp"
#include "model/job.hpp"
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

/// What came of them.
struct PastWorkload {
  Workload workload;          // durations are those seen on `ran_on`
  std::vector<RanOn> ran_on;  // by job
  std::vector<SeenRun> seen;  // by job
  PastSizes sizes;
};

/// Jobs that never ran, or have not ended, are left out with the reason. Fails where none is left.
/// Profiles are looked up among those of the fleet first.
[[nodiscard]] Result<PastWorkload> past_workload(std::span<const PastJob> jobs,
                                                 const FleetFile& fleet);

}  // namespace cleave
