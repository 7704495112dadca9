#pragma once
// Which job runs where, as a scheduler sees it, together with the state of the fleet: what every
// scheduler needs to turn a decision into commands and to give an instance back. Keeps the two in
// step.

#include <array>
#include <concepts>
#include <map>
#include <vector>

#include "engine/queue/job_queue.hpp"
#include "engine/scheduler.hpp"

namespace cleave {

/// Where a job runs.
struct JobSeat {
  GpuId gpu{};
  PlacementId placement = 0;
  RequestId request{};
  bool taken = false;
  bool whole = false;  // the GPU, with MIG off; the placement says nothing
};

/// The events that Seats hears.
template <class Event>
concept SeatsEvent = std::same_as<Event, GpuLost> || std::same_as<Event, InstanceGone> ||
    std::same_as<Event, GpuWithdrawn> || std::same_as<Event, GpuRestored> ||
    std::same_as<Event, GpuReturned>;

/// The jobs that run, where each runs, and the fleet as that leaves it.
class Seats {
 public:
  explicit Seats(const Fleet& fleet);

  [[nodiscard]] const Fleet& fleet() const { return fleet_; }
  [[nodiscard]] const JobSeat& operator[](JobId job) const { return seats_[index(job)]; }
  [[nodiscard]] bool seated(JobId job) const {
    return index(job) < seats_.size() && seats_[index(job)].taken;
  }
  /// The jobs on a GPU, in the order of their placements; those that share one in the order in
  /// which they came.
  [[nodiscard]] std::vector<JobId> on(GpuId gpu) const;
  /// The job that holds this placement, which must be held by one and not shared.
  [[nodiscard]] JobId at(GpuId gpu, PlacementId placement) const {
    return holders_[cell(gpu, placement)];
  }

  /// Starts a waiting job there: destroys what is in the way, creates the instance unless it is
  /// there.
  void start(Waiting job, GpuId gpu, PlacementId placement, std::vector<Command>& commands);
  /// The same on an instance that may be shared, perhaps beside others that were started this way.
  void start_shared(Waiting job, GpuId gpu, PlacementId placement, InstanceShare share,
                    std::vector<Command>& commands);
  /// Starts a waiting job on the GPU with MIG off: destroys its idle instances, which must be all
  /// that is there. Until the job leaves, the fleet shows the GPU as one that takes no work.
  void start_whole(Waiting job, GpuId gpu, std::vector<Command>& commands);
  /// The job has the GPU in this way already; false where the fleet shows anything there.
  bool adopt_whole(const Adopted& adopted);
  /// The job runs there already, on an instance that is idle in the fleet; false where there is
  /// none.
  bool adopt(const Adopted& adopted);
  /// The same of a job that may share its instance with others adopted this way.
  bool adopt_shared(const Adopted& adopted);
  /// The job's instance is free, and idle; where it was shared, when the last job leaves it.
  JobSeat leave(JobId job);
  /// The job leaves soon: has the memory fetch what that needs.
  void leaves_soon(JobId job) const {
    if (index(job) < seats_.size()) __builtin_prefetch(&seats_[index(job)], 1);
  }
  /// The same of the GPU that it leaves.
  void frees_soon(GpuId gpu) const {
    fleet_.expect(gpu);
    __builtin_prefetch(&holders_[index(gpu) * width_], 1);
  }
  /// The job that runs at `from` goes to another instance, replica first; the old one is idle.
  void migrate(GpuId from, PlacementId from_placement, GpuId to, PlacementId to_placement,
               std::vector<Command>& commands);
  /// Creates an idle instance, after destroying idle ones in its way.
  void create(GpuId gpu, PlacementId placement, std::vector<Command>& commands);
  void destroy(GpuId gpu, PlacementId placement, std::vector<Command>& commands);

  /// The GPU, which takes work, takes none for the moment, or again.
  void set_aside(GpuId gpu, bool aside) { set_absent(gpu, Absence::aside, aside); }

  // What becomes of seats and fleet with the events that change these alone. Each returns the jobs
  // that wait again.

  /// The GPU is gone, and its instances with it. It takes no job until it returns, empty.
  std::vector<Waiting> hear(const GpuLost& lost);
  std::vector<Waiting> hear(const InstanceGone& gone);
  /// The GPU takes no work until it is restored; what is there stays.
  std::vector<Waiting> hear(const GpuWithdrawn& withdrawn);
  std::vector<Waiting> hear(const GpuRestored& restored);
  std::vector<Waiting> hear(const GpuReturned& returned);

 private:
  /// Why the fleet shows a GPU as absent; there may be several reasons.
  enum class Absence : std::uint8_t { withdrawn = 1, aside = 2, whole = 4 };
  void set_absent(GpuId gpu, Absence why, bool absent);
  void sit_whole(Waiting job, GpuId gpu);
  /// What is held side by side on a GPU starts at different slices.
  [[nodiscard]] std::size_t cell(GpuId gpu, PlacementId placement) const {
    return index(gpu) * width_ + starts_[fleet_[gpu].kind][placement];
  }
  void sit(Waiting job, GpuId gpu, PlacementId placement);
  /// The jobs there; none where nobody is.
  [[nodiscard]] std::vector<JobId> all_at(GpuId gpu, PlacementId placement) const;
  void clear_way(GpuId gpu, PlacementId placement, std::vector<Command>& commands);

  Fleet fleet_;
  /// The first memory slice of each placement.
  using StartSlices = std::array<std::uint8_t, PlacementSet::most>;
  std::vector<StartSlices> starts_;  // by GPU model and placement: the first memory slice
  std::size_t width_ = 0;            // memory slices of the model that has most
  std::vector<JobSeat> seats_;       // by job
  std::vector<JobId> holders_;       // by GPU and start; `nobody` where no job is
  std::map<std::size_t, std::vector<JobId>> sharers_;  // the same of those that may be shared
  std::map<GpuId, JobId> whole_;                       // those that have the GPU with MIG off
  std::vector<std::uint8_t> absence_;                  // by GPU: reasons
};

}  // namespace cleave
