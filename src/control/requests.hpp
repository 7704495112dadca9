#pragma once
// The values that go in and out of the loop besides records: what users hand in, what they are
// answered, and how a GPU stands.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/gpu_executor.hpp"
#include "control/job_record.hpp"
#include "control/node/change_times.hpp"
#include "control/settings.hpp"
#include "model/fleet_file.hpp"
#include "model/live_plan.hpp"

namespace cleave {

/// Another job of the same request, that must end before.
struct Sibling {
  std::string on;       // ok, failed or any, as in dependencies
  std::size_t job = 0;  // which of them, from 0
};

/// A job to be submitted; checked by the caller, except for what only the loop knows.
struct NewJob {
  JobOwner owner;
  JobSpec spec;
  JobCommand command;
  std::optional<SubmissionKey> key = {};  // that no other job of the user has
  std::optional<AskedArray> array = {};   // then it becomes a job for each index
  std::vector<Sibling> siblings = {};     // that it waits for, beside spec.after

  [[nodiscard]] std::size_t tasks() const { return array ? array->indices.size() : 1; }
};

/// The numbers of the jobs that these become, in their order, if the first has this one. Each
/// process or replica takes a number.
[[nodiscard]] std::vector<JobNumber> numbers_from(JobNumber first, std::span<const NewJob> jobs);
/// The first number that is free after them.
[[nodiscard]] JobNumber number_after(JobNumber first, std::span<const NewJob> jobs);
/// The numbers of each: "57", or "57-60" of an array.
[[nodiscard]] std::vector<std::string> ranges_from(JobNumber first, std::span<const NewJob> jobs);

/// A job that was submitted with a key.
struct KeyedJob {
  JobNumber number = 0;
  std::int64_t content = 0;
  bool written = false;  // false: its submission is not answered yet
};

/// A job that is to end, and how soon.
struct Cancellation {
  JobNumber job = 0;
  CancelGrace grace = CancelGrace::of_job;
};

/// What became of a request: it is in the store, or it is as if nobody had asked.
struct RequestAnswer {
  std::uint64_t number = 0;
  Result<void> done;
};

/// What forgetting jobs did, or would do.
struct Purged {
  std::vector<JobNumber> jobs;
  std::int64_t bytes = 0;
};

/// What operators want of a plan that is being carried out.
enum class PlanChange : std::uint8_t { pause, resume, cancel };

/// A job as plans see it.
struct LiveWorkload {
  std::string workload;  // its name in the fleet
  JobNumber job = 0;
  std::string words;  // "replica 2 of job 12"
  MoveWay way = MoveWay::stays;
  Duration saves{};   // from the signal or TERM to its end, at most
  Duration starts{};  // as it took to start where it runs
};
/// The GPUs as a fleet with its work, and what the fleet file does not say of both.
struct LiveFleet {
  FleetFile fleet;
  std::vector<std::string> uuids;  // of the fleet's GPUs
  std::vector<LiveWorkload> work;  // running, by number
  ChangeTimes times;
};

/// The owner of a job as the system knows them now.
using OwnerLookUp = std::function<Result<JobOwner>(const JobOwner& as_submitted)>;

/// How the replicas of a service stand, for people.
struct ServiceStatus {
  std::int64_t up = 0, restarts = 0;
};
/// What is known of a lease's work, for people.
struct LeaseStatus {
  bool measured = false;              // the driver counts it
  std::optional<Instant> idle_since;  // wall clock; empty: it works, or that is not known
};

/// How a GPU stands, for people.
struct GpuStatus {
  const GpuIdentity* gpu = nullptr;
  std::optional<GpuObservation> observation;  // empty until the first
  bool drained = false, lost = false;
  std::string trouble;  // the driver does not answer, it refuses, another program holds the lock;
                        // may be empty
  /// An attempt, and the device it holds.
  struct Held {
    std::string device;
    JobKey attempt;
    std::optional<double> activity = {};  // of the processors there, as last counted: 0 to 1
  };
  std::vector<Held> jobs;
  std::map<std::string, std::int64_t> energies;  // of jobs there, in millijoules, by device
};

}  // namespace cleave
