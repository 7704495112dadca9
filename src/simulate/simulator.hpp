#pragma once
// Runs a workload on a simulated fleet under a scheduler, on a virtual clock, and measures. The
// engine is the one that a daemon would run; only what tells it of the world, and what carries out
// its commands, is invented.
//
// At one instant things happen in this order: GPUs return, processes end (by job number), jobs
// report memory, leases become idle or busy, GPUs are lost, times asked for come, jobs arrive; then
// the scheduler decides over what has gathered. A job holds its instance from the moment it is
// decided, starts when the instance is made, and runs its duration divided by its speed there.
// Everything random comes from the seed: same input, same bytes.
//
// What a job keeps of its work when it is moved, stopped or lost, it says itself (model/keeps.hpp):
// one with checkpoints writes them and reads them, one that keeps nothing begins again. What
// follows is of all others: servers, and jobs that do not say.
//
// A job that is moved runs on where it is until its replica does at the new place (MigrateJob). Its
// old instance counts as idle at once, but whatever is to be done there waits for that moment, and
// so it does when the job ends before. A second move takes over from the first. Until then, too,
// what is lost with a GPU is what has been moved there.
//
// Compaction: where options ask for it, a policy (planner/compaction_policy.hpp) looks at the fleet
// when all of an instant is decided, and moves jobs to make room for one that has waited. The
// engine is then made anew and told of what runs; the job that the room is for is told of before
// the others that wait.
//
// Memory: a job whose memory grows dies in the first iteration that needs more than its instance
// has, and so does, at once, one that is started where its table of speeds or its request says that
// it does not fit. A job that begins on an instance that others share has what they leave of its
// memory when each has the most that it will ever need; the others keep theirs.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "engine/engine.hpp"
#include "forecast/time/application_times.hpp"
#include "model/compaction_rules.hpp"
#include "model/fleet_file.hpp"
#include "model/gpu_reservation.hpp"
#include "model/job.hpp"
#include "model/run_summary.hpp"
#include "simulate/faults.hpp"
#include "simulate/knowledge.hpp"
#include "simulate/run_observer.hpp"
#include "simulate/stop_terms.hpp"
#include "simulate/world_terms.hpp"

namespace cleave {

/// Told now and then how many of how many events are done.
using Progress = std::function<void(std::size_t done, std::size_t all)>;

/// How a run goes, apart from fleet, workload and scheduler.
struct SimulationOptions {
  std::uint64_t seed = 1;
  bool use_index = true;  // false: the scheduler looks at every GPU; same summary
  std::optional<Duration> reconfiguration =
      {};                    // of each change of a GPU; empty: as physics/ has it
  Duration process_start{};  // from the start of a process until it makes progress
  StopTerms stops = {};      // what it takes to save, restore and move jobs
  std::string forecaster = "none";
  /// What schedulers are told of times, in place of the truth; null: the truth. Those that are
  /// there to know it (SchedulerRow::truth) know it all the same.
  std::shared_ptr<const ApplicationTimes> applications = {};
  /// How much schedulers are told, and what they may do. Times and speeds that are not the truth go
  /// without `applications`.
  Knowledge know = {};
  MayInterrupt may = MayInterrupt::all;
  FaultPlan faults = {};
  std::vector<GpuReservation> reservations = {};  // made beforehand; those of a GPU do not overlap
  /// Jobs are moved to make room for one that waits; empty: they are not.
  std::optional<CompactionRules> compaction = {};
  WorldTerms world = {};
  RunObserver* observer = nullptr;
  std::vector<JobOutcome>* outcomes = nullptr;  // by job, filled when the run has ended
  Progress progress = {};
};

/// Fails with kind `internal` when the scheduler breaks a law of the hardware, and with `bad_usage`
/// when it needs what `options` withhold.
[[nodiscard]] Result<RunSummary> simulate(const FleetFile& fleet, const Workload& workload,
                                          const SchedulerSpec& spec,
                                          const SimulationOptions& options = {});

}  // namespace cleave
