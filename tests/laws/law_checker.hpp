#pragma once
// Checks a run from outside. It sees the events that the run's observer sees and keeps its own
// account of them, from the fleet file and the workload alone: memory slices as bits, jobs as they
// wait and run, work as it is done. It shares nothing with the simulator's world nor with any
// scheduler.
//
// The laws, event by event: times do not fall; a job is submitted once, at its arrival, and runs at
// most once at a time; an instance starts where its profile may, uses slices and compute that are
// otherwise free, and exists before it is used; one job uses an instance; nothing happens on an
// absent GPU, nor to walls and the fleet's own work; a job that ran out of memory starts again only
// on more memory; jobs start by priority and then in the order of submission, if the scheduler
// promises that; no user has more than the limits allow, and none takes a GPU that others reserved;
// no job is overtaken for ever, if the scheduler promises that. The processes of a job of several
// places begin and end at one time, all of them, lie to each other as the job asks, and do their
// work at the speed of the slowest; what asks for a whole GPU gets that. And at the end: every job
// ended once or waits, each did all of its work, and the run's summary agrees.

#include <array>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/fleet_file.hpp"
#include "model/gpu_reservation.hpp"
#include "model/run_summary.hpp"
#include "simulate/run_observer.hpp"

namespace cleave::laws {

/// What a scheduler promises, and what it may do.
struct LawOptions {
  // No job begins for the first time while another waits that has a higher priority, or the same
  // and was submitted earlier, either for the first time or because it ran out of memory or lost
  // its GPU. The scheduler may order jobs that it stopped itself as it likes.
  bool fcfs = false;
  // Nor, where the scheduler chooses among all that wait, while one like it waits that has a higher
  // priority: where the first could go, the other could have gone.
  bool alike_by_priority = false;
  // And where it could go depends on its speeds too: jobs with others are not like it.
  bool by_speed = false;
  // Once this many others have started while a job is the first of those in turn, no further one
  // does after all that ran then have left, on a fleet of which no GPU is away.
  std::optional<std::size_t> overtakes = {};
  // A user, of one account, has no more jobs running.
  std::optional<std::int64_t> user_jobs{};
  // Nor do they hold more compute slices, when one of them starts.
  std::optional<std::int64_t> user_slices{};
  // Only batches make room for others, no more often than this each.
  std::optional<std::int64_t> most_evictions{};
  // A batch is checkpointed or moved no more often within an hour, and checkpointed only if it may
  // be stopped; services and leases never are.
  std::optional<std::size_t> most_disruptions{};
  // While one holds, no job of others begins on its GPU or moves there.
  std::vector<GpuReservation> reservations = {};
  bool sharing = false;  // jobs may share instances
  bool must_end = true;  // every job that is not rejected ends; only if the fleet allows it
  Duration process_start{}, checkpoint{};
};

/// The account of one run.
class LawChecker final : public RunObserver {
 public:
  LawChecker(const FleetFile& fleet, const Workload& workload, const LawOptions& options);

  /// Throws std::runtime_error if there are far more events than the jobs can need.
  void on(const RunEvent& event) override;
  /// After the run.
  void finish(const RunSummary& summary, const std::vector<JobOutcome>& outcomes);

  /// The first violation, in words; empty: none.
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

 private:
  /// What a job does.
  enum class JobState { absent, waiting, running, finished, failed, rejected };
  /// Whose instance it is.
  enum class Owner { ours, fleet_work, wall };
  static constexpr int most_slices = 16;

  /// An instance, with the time until which it is in use.
  struct Instance {
    PlacementId placement = 0;
    Owner owner = Owner::ours;
    std::uint32_t slices = 0;
    /// In use until then: by a process that leaves, although its job has gone.
    Instant usable_from{}, used_until{};
    std::vector<JobId> jobs;
  };
  /// A GPU, with what is on it.
  struct Gpu {
    bool absent = false;
    std::vector<Instance> instances;
    std::optional<JobId> whole;
    std::array<Instant, most_slices>
        slices_used_until{};  // by processes on instances that were destroyed
    std::vector<JobId> to_evict;
  };
  /// Where a process of a job is, if it is anywhere.
  struct Seat {
    bool taken = false;
    GpuId gpu{};
    std::optional<PlacementId> placement;
  };
  /// What is known of a job.
  struct JobAccount {
    JobState state = JobState::absent;
    std::vector<Seat> seats;                 // by rank
    std::size_t here = 0;                    // of its processes
    Instant started{};                       // its processes were told to start
    std::optional<RunEvent::Kind> leaves{};  // why its processes left last
    std::optional<MiB> had{};                // the memory of the first that did
    Instant begin{}, counts_from{}, end{}, saved{};
    double done = 0, speed = 0;
    std::int64_t made_room = 0;       // for services and leases, so often
    std::deque<Instant> disruptions;  // within the last hour
    bool begun = false, speed_known = true, resumed = false, ran_out_last = false;
    std::optional<MiB> more_than;       // the memory on which it failed
    bool begins_beside_others = false;  // on an instance whose memory it shares with them
    bool warned = false;                // of its memory, in this run
    Duration execution{};
  };

  /// The first of those that wait, and what it still waits for.
  struct LongestWait {
    std::pair<std::int64_t, std::size_t> turn;
    std::size_t overtaken = 0;
    Instant since{};  // it is first, GPUs are there, or enough have overtaken it
    std::optional<std::set<JobId>> left{};  // of those that ran a little later
  };

  void submitted(const RunEvent& event);
  void rejected(const RunEvent& event);
  void destroyed(const RunEvent& event);
  void created(const RunEvent& event);
  void started(const RunEvent& event);
  void started_on_instance(const RunEvent& event);
  void started_on_whole_gpu(const RunEvent& event, Gpu& gpu);
  void finished(const RunEvent& event);
  void failed(const RunEvent& event);
  void ran_out(const RunEvent& event);
  void check_made_room(const RunEvent& event, JobAccount& account);
  void check_disruptions(const RunEvent& event, JobAccount& account);
  void check_may_be_saved(const RunEvent& event);
  void stopped(const RunEvent& event);
  void checkpointed(const RunEvent& event);
  void migrated(const RunEvent& event);
  void gpu_lost(const RunEvent& event);
  void gpu_returned(const RunEvent& event);
  void evicted(const RunEvent& event);
  void warned(const RunEvent& event);

  /// The first process of the job starts, or of a job that has but one. False: it may not.
  bool may_start(const RunEvent& event);
  void begins(const RunEvent& event);
  /// Another does.
  void begins_with_others(const RunEvent& event);
  /// All have started.
  void check_together(const RunEvent& event);
  void check_rules(const RunEvent& event, const Gpu& gpu);
  void check_order(const RunEvent& event);
  void check_longest_wait(const RunEvent& event);
  void check_alike(const RunEvent& event);
  [[nodiscard]] bool alike(JobId a, JobId b) const;
  /// Smaller is earlier: priority, then the order of submission.
  [[nodiscard]] std::pair<std::int64_t, std::size_t> turn(JobId job) const;
  void check_user(const RunEvent& event);
  void check_reserved(const RunEvent& event);
  void check_memory(const RunEvent& event);
  void check_work_done(const RunEvent& event);
  void check_fits(const RunEvent& event);
  void check_jobs(const RunSummary& summary, const std::vector<JobOutcome>& outcomes);
  void check_times(const RunSummary& summary, const std::vector<JobOutcome>& outcomes);

  /// The job if it runs where the event says; otherwise null, with a violation.
  JobAccount* running(const RunEvent& event);
  /// A process of the job is gone: its place is free from `until` on. Whether it was the last: the
  /// job ran until now.
  bool leave(const RunEvent& event, Instant until);
  [[nodiscard]] const Request& request_of(const RunEvent& event) const;
  void progress(JobAccount& account);
  void wait_again(JobId id, bool work_is_kept);
  [[nodiscard]] Instance* find(GpuId gpu, PlacementId placement);
  [[nodiscard]] const Geometry& geometry(GpuId gpu) const;
  [[nodiscard]] std::optional<double> speed(JobId job, GpuId gpu,
                                            std::optional<PlacementId> placement) const;
  [[nodiscard]] std::optional<MiB> usable(GpuId gpu, std::optional<PlacementId> placement) const;
  void violation(const RunEvent& event, const std::string& what);
  void violation(const std::string& what);
  template <class A, class B>
  void same(const A& summary, const B& own, const char* what);

  const FleetFile& fleet_;
  const Workload& workload_;
  LawOptions options_;
  std::vector<Gpu> gpus_;
  std::vector<JobAccount> jobs_;
  std::size_t submitted_ = 0, events_ = 0;
  std::set<std::pair<std::int64_t, std::size_t>> in_turn_;  // that wait, through no doing of the
                                                            // scheduler's
  std::optional<LongestWait> longest_;
  std::size_t evictions_due_ = 0;
  std::set<JobId> torn_;                  // some of their processes have places and some have none
  std::array<std::size_t, 16> counts_{};  // by kind of event
  std::size_t failed_running_ = 0;
  std::optional<Instant> last_;
  Instant last_end_{};
  std::vector<std::string> violations_;
};

}  // namespace cleave::laws
