#pragma once
// The policy of compaction in a simulated world (planner/compaction_policy.hpp): who waits and
// since when, the fleet as the policy sees it, and when it looks again. It goes by what schedulers
// are told of jobs, and by no more.

#include <map>
#include <optional>
#include <vector>

#include "engine/engine.hpp"
#include "planner/compaction_policy.hpp"
#include "simulate/known_jobs.hpp"
#include "simulate/rates.hpp"
#include "simulate/world.hpp"

namespace cleave {

/// What a look at a simulated fleet needs to know. Everything must outlive it.
struct CompactedWorld {
  const Workload& workload;
  const Processes& processes;
  const Fleet& start;  // the fleet at the beginning: its walls, and work of its own
  const World& world;
  const Rates& rates;  // which jobs are on a GPU
  const JobRuns& runs;
  const KnownJobs& facts;
  const RequestTable& requests;
  StopTerms stops;
  Duration process_start;
  std::optional<Duration> reconfiguration;
  std::span<const GpuReservation> reservations;  // such GPUs are left alone until they are over
};

/// Follows the jobs that wait, and decides.
class Compactor {
 public:
  Compactor(const CompactionRules& rules, bool in_order, const CompactedWorld& in)
      : rules_(rules), in_order_(in_order), in_(in) {}

  /// The job waits from now on; or it runs, or is over.
  void waits(JobId job, Instant now) { since_.emplace(job, now); }
  void waits_no_more(JobId job) { since_.erase(job); }
  [[nodiscard]] bool waits(JobId job) const { return since_.contains(job); }
  /// In the order in which an engine hears of them.
  [[nodiscard]] std::vector<JobId> queue() const;

  /// When it is to look; empty: nobody waits.
  [[nodiscard]] std::optional<Instant> due() const;

  /// A move by its GPUs, and how the job gets there.
  struct Move {
    JobId job{};
    GpuId from{}, to{};
    PlacementId from_placement = 0, to_placement = 0;
    bool by_checkpoint = false;
  };
  /// The moves to be made now, in their order, and the job that is to have the room.
  struct Plan {
    JobId job{};
    std::vector<Move> moves;
  };
  /// `engine` says what jobs that wait ask for, and what keeps them besides.
  [[nodiscard]] std::optional<Plan> look(const Engine& engine, Instant now);

 private:
  struct Seen {
    CompactionScene scene;
    std::vector<GpuId> gpus;  // by their numbers in the scene
  };
  [[nodiscard]] Seen see(const Engine& engine, Instant now) const;
  [[nodiscard]] RoomGpu room_on(GpuId gpu, Instant now, CompactionScene& scene) const;
  [[nodiscard]] RoomWork work_of(JobId job, const JobRun& run) const;
  [[nodiscard]] std::optional<Instant> end_of(JobId job, const JobRun& run, Instant now) const;
  [[nodiscard]] bool by_checkpoint(JobId job) const;
  [[nodiscard]] bool reserved(GpuId gpu, Instant now) const;
  void add_waiting(const Engine& engine, CompactionScene& scene) const;

  CompactionRules rules_;
  bool in_order_;
  CompactedWorld in_;
  std::map<JobId, Instant> since_;
  MoveHistory history_;
  std::optional<Instant> look_again_;  // not before, whoever waits long enough by then
};

/// The fleet as an engine is to find it that is made now: what there is, with each instance of ours
/// as idle.
[[nodiscard]] Fleet fleet_of_now(const Fleet& start, const World& world);

}  // namespace cleave
