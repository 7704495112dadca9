#pragma once
// Who runs where, as a scheduler sees it, together with the state of the fleet: what every scheduler needs to
// turn a decision into commands and to give an instance back. Keeps the two in step.

#include <vector>

#include "engine/scheduler.hpp"
#include "engine/waiting_line.hpp"

namespace cleave {

/// Where a job runs.
struct Seat {
  GpuId gpu{};
  PlacementId placement = 0;
  RequestId request{};
  bool taken = false;
};

class Seats {
 public:
  explicit Seats(const Fleet& fleet) : fleet_(fleet), by_gpu_(fleet.size()) {}

  [[nodiscard]] const Fleet& fleet() const { return fleet_; }
  [[nodiscard]] const Seat& operator[](JobId job) const { return seats_[index(job)]; }
  [[nodiscard]] bool seated(JobId job) const {
    return index(job) < seats_.size() && seats_[index(job)].taken;
  }
  /// The jobs on a GPU, in the order in which they came there.
  [[nodiscard]] const std::vector<JobId>& on(GpuId gpu) const { return by_gpu_[index(gpu)]; }
  /// The job that holds this placement, which must be held by one.
  [[nodiscard]] JobId at(GpuId gpu, PlacementId placement) const;

  /// Starts a waiting job there: destroys what is in the way, creates the instance unless it is there.
  void start(Waiting job, GpuId gpu, PlacementId placement, std::vector<Command>& commands);
  /// The job's instance is free, and idle.
  Seat leave(JobId job);
  /// A running job goes to another instance, replica first; the old one is idle.
  void migrate(JobId job, GpuId gpu, PlacementId placement, std::vector<Command>& commands);
  /// Creates an idle instance, after destroying idle ones in its way.
  void create(GpuId gpu, PlacementId placement, std::vector<Command>& commands);
  void destroy(GpuId gpu, PlacementId placement, std::vector<Command>& commands);
  /// The GPU is gone: its jobs, which wait again. It takes none until it returns, empty.
  std::vector<Waiting> lose(GpuId gpu);
  void recover(GpuId gpu) { fleet_.restore(gpu); }

 private:
  void clear_way(GpuId gpu, PlacementId placement, std::vector<Command>& commands);

  Fleet fleet_;
  std::vector<Seat> seats_;                 // by job
  std::vector<std::vector<JobId>> by_gpu_;  // at most as many as instances
};

}  // namespace cleave
