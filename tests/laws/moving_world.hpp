#pragma once
// A node as a daemon would have it, without clock or device: what exists and runs, how the commands
// of an engine change it, and a new engine made from that state alone whenever asked for. It keeps
// its own account and reports violations; it knows nothing of the simulator nor of any scheduler.
//
// The laws, command by command: instances stand where their profiles may and share no slice; held
// instances, walls and the fleet's own work are never destroyed; nothing is begun, made or
// destroyed on a GPU that is lost, drained or paused; a job runs once at a time, on an instance
// that exists and that is shared only by the jobs that were told to; it does not start again on as
// little memory as it ran out of; and if the scheduler promises turns, no job begins for the first
// time while another waits that comes before it (with a higher priority, or the same and submitted
// earlier), either for the first time or again through no doing of the scheduler's.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "engine/engine.hpp"

namespace cleave::laws {

/// The world of one run.
class MovingWorld {
 public:
  /// Everything must outlive the world. `facts` may be null.
  MovingWorld(const FleetFile& file, RequestTable& requests, const JobFacts* facts,
              Forecaster* forecaster, std::uint64_t seed);

  /// Throws the engine away and makes another from the present state: false, with nothing changed,
  /// if the options exclude each other.
  bool rebuild(const SchedulerSpec& spec);

  // Events. Those about something that does not exist do nothing.

  void submit(RequestId request);
  void cancel_one();
  void end_one();
  void run_out_one();
  void report_one(std::int64_t iteration);
  void lose(GpuId gpu);
  void give_back(GpuId gpu);
  void drain(GpuId gpu, bool drained);
  void pause(bool paused);
  /// An instance of ours is gone, with everything that ran on it.
  void vanish_one();
  void settle();
  /// Time goes on, past the moment for which the engine asked to be woken.
  void wait(Duration time);
  [[nodiscard]] std::optional<Duration> next_wake() const;

  /// Creates fail from now on with this probability.
  void refuse(double probability) { refusal_ = probability; }

  [[nodiscard]] std::size_t gpus() const { return gpus_.size(); }
  [[nodiscard]] std::size_t running() const { return running_; }
  [[nodiscard]] std::vector<JobId> waiting() const;
  /// By priority, and then by submission.
  [[nodiscard]] bool comes_before(JobId job, JobId other) const;
  [[nodiscard]] Outlook outlook(JobId job) const { return engine_->outlook(job); }
  /// Whether a GPU that takes work has a place for it that only jobs ever hold.
  [[nodiscard]] bool could_start(JobId job) const;
  /// Where a job runs; without a placement on a whole GPU.
  struct Place {
    GpuId gpu{};
    std::optional<PlacementId> placement;
  };
  /// Empty where it does not run.
  [[nodiscard]] std::optional<Place> place_of(JobId job) const;
  /// Whether both hold the same slices.
  [[nodiscard]] bool meet(const Place& a, const Place& b) const;
  [[nodiscard]] int memory_slices(const Place& place) const;
  [[nodiscard]] std::vector<JobId> running_jobs() const;
  /// The jobs that have begun since this was asked last, in their order.
  [[nodiscard]] std::vector<JobId> take_begun() { return std::exchange(begun_, {}); }
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

  /// How often things happened, to show that a run was not trivial.
  struct Counts {
    std::size_t events = 0, adopted = 0, adopted_whole = 0, shared = 0, refused = 0, unmoved = 0,
                vanished = 0, cancelled = 0, rejected = 0, failed = 0, evicted = 0, stopped = 0,
                ended = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  /// Whose instance it is.
  enum class Owner { ours, fleet_work, wall };
  /// What a job does.
  enum class State { waiting, refused, running, ended };
  /// An instance that exists.
  struct Standing {
    PlacementId placement = 0;
    Owner owner = Owner::ours;
    std::set<JobId> jobs;
  };
  /// One GPU.
  struct Gpu {
    bool lost = false, drained = false;
    std::vector<Standing> instances;
    std::optional<JobId> whole;
  };
  /// What is known of a job.
  struct Account {
    State state = State::waiting;
    RequestId request{};
    GpuId gpu{};
    std::optional<PlacementId> placement;
    bool begun = false,
         its_turn = true;  // false: the scheduler stopped it, and may order it as it likes
    std::optional<MiB> more_than;
  };

  void tell(const Event& event);
  void carry_out_all();
  void carry_out(const DestroyInstance& what);
  void carry_out(const CreateInstance& what);
  void carry_out(const StartJob& what);
  void carry_out(const StartShared& what);
  void carry_out(const StartOnWholeGpu& what);
  void carry_out(const StopJob& what);
  void carry_out(const CheckpointJob& what);
  void carry_out(const MigrateJob& what);
  void carry_out(const RejectJob& what);
  void carry_out(const FailJob& what);
  void carry_out(const WarnOfMemory& what);
  void carry_out(const WakeAt& what);
  void tell_what_there_is();

  void start(JobId job, GpuId gpu, PlacementId placement, bool shared);
  void begins(JobId job, GpuId gpu, std::optional<PlacementId> placement);
  void leave(JobId job);
  void evict(JobId job);
  void check_rules(GpuId gpu, PlacementId placement);
  void takes_work(GpuId gpu, const char* what);
  [[nodiscard]] std::optional<JobId> any_running();
  [[nodiscard]] Standing* find(GpuId gpu, PlacementId placement);
  [[nodiscard]] const Geometry& geometry(GpuId gpu) const;
  [[nodiscard]] std::optional<MiB> usable(const Account& job) const;
  Account& account(JobId job) { return jobs_[index(job)]; }
  Gpu& gpu_at(GpuId gpu) { return gpus_[index(gpu)]; }
  void violation(const std::string& what);

  const FleetFile& file_;
  RequestTable& requests_;
  const JobFacts* facts_;
  Forecaster* forecaster_;
  Random random_;
  std::vector<Gpu> gpus_;
  std::vector<Account> jobs_;
  bool paused_ = false;
  double refusal_ = 0;
  Instant now_{};

  std::unique_ptr<Fleet> fleet_;  // as it was when the engine was made
  std::optional<SchedulerSpec> spec_;
  std::optional<Engine> engine_;
  std::multiset<Instant> wakes_;
  std::vector<JobId> begun_;
  std::vector<Command> commands_;
  Refusals refusals_;                  // outlives the engines
  std::vector<CreateFailed> refused_;  // of this answer
  bool abandoned_ = false;             // the rest of this answer cannot be carried out
  bool must_rebuild_ = false, rebuilding_ = false;
  std::size_t running_ = 0;
  Counts counts_;
  std::vector<std::string> violations_;
};

}  // namespace cleave::laws
