#pragma once
// What a scheduler says to the queue that it keeps.

#include <optional>
#include <vector>

#include "engine/queue/job_queue.hpp"
#include "engine/queue/spot.hpp"
#include "model/event.hpp"

namespace cleave {

/// What a scheduler is to its queue.
class QueueHost {
 public:
  virtual ~QueueHost() = default;
  /// Where the job would start now, by the scheduler's own rule; not on a GPU that is set aside.
  virtual std::optional<Spot> find(Waiting job) = 0;
  /// The same on this GPU, set aside or not, on one of these spots. Never empty where they are
  /// free.
  virtual std::optional<Spot> find_on(Waiting job, GpuId gpu, const Room& among) = 0;
  /// The spot was found for it.
  virtual void start(Waiting job, Spot spot, std::vector<Command>& commands) = 0;
  /// Every spot of the GPU on which the job may start one day, if what runs there ends and the GPU
  /// takes work.
  virtual Room room(GpuId gpu, RequestId request) = 0;
  /// Set aside or not.
  [[nodiscard]] virtual bool takes_work(GpuId gpu) const = 0;
  /// The running job was stopped: its place is free. It is returned as it would wait again.
  virtual Waiting vacate(JobId job) = 0;
  /// `find` is to leave out this GPU, which takes work, or no more.
  virtual void set_aside(GpuId gpu, bool aside) = 0;

  /// Every spot of the GPU on which the job may start one day, as things are.
  [[nodiscard]] Room room_now(GpuId gpu, RequestId request) {
    return takes_work(gpu) ? room(gpu, request) : Room{};
  }
};

}  // namespace cleave
