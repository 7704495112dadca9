#pragma once
// Who runs where, as a scheduler sees it, together with the state of the fleet: what every scheduler needs to
// turn a decision into commands and to give an instance back. Keeps the two in step.

#include <vector>

#include "engine/scheduler.hpp"
#include "engine/waiting_line.hpp"

namespace cleave {

/// Where a job runs.
struct JobSeat {
  GpuId gpu{};
  PlacementId placement = 0;
  RequestId request{};
  bool taken = false;
};

class Seats {
 public:
  explicit Seats(const Fleet& fleet);

  [[nodiscard]] const Fleet& fleet() const { return fleet_; }
  [[nodiscard]] const JobSeat& operator[](JobId job) const { return seats_[index(job)]; }
  [[nodiscard]] bool seated(JobId job) const {
    return index(job) < seats_.size() && seats_[index(job)].taken;
  }
  /// The jobs on a GPU, in the order of their placements.
  [[nodiscard]] std::vector<JobId> on(GpuId gpu) const;
  /// The job that holds this placement, which must be held by one.
  [[nodiscard]] JobId at(GpuId gpu, PlacementId placement) const { return holders_[cell(gpu, placement)]; }

  /// Starts a waiting job there: destroys what is in the way, creates the instance unless it is there.
  void start(Waiting job, GpuId gpu, PlacementId placement, std::vector<Command>& commands);
  /// The job's instance is free, and idle.
  JobSeat leave(JobId job);
  /// A running job goes to another instance, replica first; the old one is idle.
  void migrate(JobId job, GpuId gpu, PlacementId placement, std::vector<Command>& commands);
  /// Creates an idle instance, after destroying idle ones in its way.
  void create(GpuId gpu, PlacementId placement, std::vector<Command>& commands);
  void destroy(GpuId gpu, PlacementId placement, std::vector<Command>& commands);
  /// The GPU is gone: its jobs, which wait again. It takes none until it returns, empty.
  std::vector<Waiting> lose(GpuId gpu);
  void recover(GpuId gpu) { fleet_.restore(gpu); }

 private:
  [[nodiscard]] std::size_t cell(GpuId gpu, PlacementId placement) const {
    return index(gpu) * width_ + placement;
  }
  void sit(JobId job, const JobSeat& seat);
  void clear_way(GpuId gpu, PlacementId placement, std::vector<Command>& commands);

  Fleet fleet_;
  std::size_t width_ = 0;       // placements of the model that has most
  std::vector<JobSeat> seats_;  // by job
  std::vector<JobId> holders_;  // by GPU and placement; `nobody` where no job is
};

}  // namespace cleave
