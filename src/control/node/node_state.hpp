#pragma once
// The node as the loop believes it to be: its GPUs, the jobs that have not ended, which places
// are in use. A value without doors, clock or engine: tests build one by hand. loop/ changes it,
// verdicts/ judges by it, and book/ reads the records that are to be written from it.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/node/change_times.hpp"
#include "control/node/disk_use.hpp"
#include "control/node/live_claim.hpp"
#include "control/node/live_job.hpp"
#include "control/node/managed_gpu.hpp"
#include "control/node/measured_applications.hpp"
#include "control/node/prediction_errors.hpp"
#include "control/node/tally.hpp"
#include "model/live_plan.hpp"
#include "model/past_use.hpp"
#include "runner/process_outcome.hpp"

namespace cleave {

/// A process failed, and the next observation of its GPU will tell whether the GPU was the reason.
struct PendingVerdict {
  JobKey key;
  ProcessOutcome outcome;
  GpuId gpu{};
  std::uint64_t operations = 0;  // an observation by a later operation than this one decides
  Duration until{};              // without one by then, the process failed by itself
};

/// The host is short of something (runner/shortage.hpp).
struct HostShortage {
  std::int64_t in_row = 0;         // starts that failed for it, each after its delay
  Duration until{};                // nothing is started before
  std::map<JobNumber, int> waits;  // jobs that wait for it, with the error number
};

/// What the plan that is being carried out has of a GPU for itself. The rest of the GPU takes work.
struct PlanHold {
  bool all = false;     // jobs leave it, or what must go first leaves no room for `places`
  PlacementSet places;  // that its moves still need, and that no job has
  [[nodiscard]] bool any() const { return all || !places.empty(); }
  /// Whether this place is its own; without a placement, the GPU with MIG off.
  [[nodiscard]] bool has(std::optional<PlacementId> placement) const {
    return all || (placement && places.contains(*placement));
  }
};

/// Attempts of which it is kept what they held.
inline constexpr std::size_t most_past_use = 20'000;

/// Everything that the loop believes about the machine.
struct NodeState {
  std::vector<ManagedGpu> gpus;  // by GpuId
  HostAsk host;                  // what jobs may have of the host together; empty: no limit
  std::map<JobNumber, LiveJob> jobs;
  std::map<JobPlace, std::set<JobKey>> occupants;  // attempts that have not ended
  std::map<std::string, LiveClaim> claims;         // by key
  /// Attempts whose stop is due, or, with attempt 0, jobs that may enter the queue again.
  std::multimap<Duration, JobKey> timers;
  std::vector<PendingVerdict> pending;
  std::set<JobKey> unknown;        // attempts that run and that the store does not know
  std::set<JobNumber> over;        // jobs to be dropped at the end of a step
  std::set<JobNumber> dependents;  // jobs and replicas that wait for others to end
  /// Jobs that have ended since dependents heard of it last, and how.
  std::vector<std::pair<JobNumber, JobState>> ended;
  std::set<JobNumber> ended_runs;      // jobs of several, all of whose processes may have ended
  std::set<JobNumber> new_leases;      // that have come, and were told nothing of their start
  std::set<JobNumber> counted_leases;  // of whose work something was heard
  std::map<std::string, InstanceRecord> instances;  // that exist as far as is known, by device
  /// To whose job instances were given last, by device, as an earlier daemon wrote it; empty: to
  /// nobody's. Of others that is not known.
  std::map<std::string, std::optional<std::uint32_t>> users;
  MeasuredApplications applications;
  std::deque<ScoredPrediction> predictions;  // of the latest jobs that finished, oldest first
  std::deque<PastUse> past_use;              // of the latest attempts that ended, in any order
  bool paused = false;
  std::optional<LivePlan> plan;            // that is being carried out
  std::optional<LivePlan> room;            // has ended, and its job is about to have the room
  std::vector<std::string> plan_refusals;  // of changes on the GPUs that it holds
  std::int64_t last_plan = 0;              // the highest number ever given
  ChangeTimes change_times;
  Tally tally;
  HostShortage shortage;
  DiskUse disk;
  JobNumber last_job = 0;            // the highest number ever given
  std::uint64_t last_operation = 0;  // the number of the last one asked of the executor

  [[nodiscard]] LiveJob* find(JobNumber number);
  [[nodiscard]] const LiveJob* find(JobNumber number) const;
  /// What is placed together with it goes by the first: itself, unless it is a further process of
  /// several.
  [[nodiscard]] LiveJob& whole(LiveJob& process);
  /// All processes of its job, by rank.
  [[nodiscard]] std::vector<LiveJob*> processes(const LiveJob& job);
  [[nodiscard]] std::vector<const LiveJob*> processes(const LiveJob& job) const;
  /// All replicas of its service that have not ended, by number; the job alone where it is none.
  [[nodiscard]] std::vector<LiveJob*> replicas(LiveJob& job);
  [[nodiscard]] std::vector<const LiveJob*> replicas(const LiveJob& job) const;
  /// The host, with the slices of all GPUs.
  [[nodiscard]] HostNode host_node() const;
  /// What a process of the job has of the host on this place.
  [[nodiscard]] HostAmount host_part(const JobRecord& job, const JobPlace& place) const;
  /// Whether an attempt of any process of its job has not been closed.
  [[nodiscard]] bool runs(const LiveJob& job) const;
  [[nodiscard]] ManagedGpu& gpu(GpuId id) { return gpus[index(id)]; }
  [[nodiscard]] const ManagedGpu& gpu(GpuId id) const { return gpus[index(id)]; }
  [[nodiscard]] std::vector<GpuId> all_gpus() const;
  /// The managed GPU with this UUID.
  [[nodiscard]] std::optional<GpuId> gpu_of(const std::string& uuid) const;
  /// Where a place of a plan is; nothing where the GPU or the placement is not there.
  [[nodiscard]] std::optional<JobPlace> place_of(const PlannedPlace& place) const;
  [[nodiscard]] PlanHold held_of(GpuId id) const;
  /// Whether the plan that is being carried out has a part of this GPU for itself, or all of it.
  [[nodiscard]] bool is_held(GpuId id) const { return held_of(id).any(); }
  /// Where the instance with this MIG UUID is, unless it is only being made.
  [[nodiscard]] std::optional<std::pair<GpuId, PlacementId>> instance_of(
      const std::string& device) const;

  /// Whether an attempt or a claim has it.
  [[nodiscard]] bool occupied(GpuId gpu, std::optional<PlacementId> placement) const {
    return occupants.contains({gpu, placement}) ||
           (placement && gpus[index(gpu)].claimed.contains(*placement));
  }
  /// Attempts that are in one place are marked as sharing it, the new one where it is there.
  void occupy(const JobPlace& place, const JobKey& key);
  /// Where the last attempt leaves an instance, that is idle from `now` on.
  void vacate(const JobPlace& place, const JobKey& key, Duration now);
  /// The instance is idle from `now` on, and somebody has to look whether it is empty.
  void leave(const JobPlace& place, Duration now);
  /// No process of the job is left.
  [[nodiscard]] bool has_no_process(JobNumber number) const;
  /// The memory that programs can use of the attempt's instance, also where the instance has not
  /// been observed since the loop began. The largest of what its profile offers: sizes are chosen
  /// by profile.
  [[nodiscard]] std::optional<MiB> capacity_of(const LiveAttempt& attempt) const;

  /// An attempt has ended: what it held counts for its owner. Of attempts for which that is not
  /// known any more nothing does, and the oldest goes beyond most_past_use.
  void count_use(const JobOwner& owner, const AttemptRecord& attempt);

  /// Of the GPU that the attempt is on; empty if that GPU is gone.
  [[nodiscard]] std::optional<Architecture> architecture_of(const LiveAttempt& attempt) const;

  // For people.
  [[nodiscard]] std::string in_words(GpuId gpu) const;
  /// "job 12", "process 2 of job 12", "replica 2 of job 12"
  [[nodiscard]] static std::string in_words(const JobRecord& job);
  [[nodiscard]] std::string in_words(const JobPlace& place) const;
  /// Also where its instance has not been observed since the loop began.
  [[nodiscard]] std::string place_in_words(const LiveAttempt& attempt) const;
};

}  // namespace cleave
