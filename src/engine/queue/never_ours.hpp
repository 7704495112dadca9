#pragma once
// Which spots of each GPU no job will ever have: those in the way of others' instances and of the
// fleet's own work. And which GPUs take no work at present.

#include <vector>

#include "engine/queue/spot.hpp"
#include "engine/scheduler.hpp"
#include "model/event.hpp"

namespace cleave {

/// What others have, by GPU.
class NeverOurs {
 public:
  explicit NeverOurs(const Fleet& fleet) {
    for (const GpuState& gpu : fleet.gpus())
      gpus_.push_back(
          {gpu.held | gpu.walls, fleet.geometry(gpu).blocked(gpu.held | gpu.walls), gpu.absent});
  }

  void hear(const GpuLost& lost) { gpus_[index(lost.gpu)] = {{}, {}, true}; }
  void hear(const GpuReturned& returned) { gpus_[index(returned.gpu)].away = false; }
  void hear(const GpuWithdrawn& withdrawn) { gpus_[index(withdrawn.gpu)].away = true; }
  void hear(const GpuRestored& restored) { gpus_[index(restored.gpu)].away = false; }
  void hear(const InstanceGone& /*gone*/) {}

  [[nodiscard]] bool takes_work(GpuId gpu) const { return !gpus_[index(gpu)].away; }

  /// Those of the candidates that a job may have one day; for whole GPUs they stand for the GPU.
  [[nodiscard]] Room beside(GpuId gpu, PlacementSet candidates, bool whole_gpu) const {
    const Gpu& here = gpus_[index(gpu)];
    if (whole_gpu) return {!candidates.empty() && here.theirs.empty(), {}, {}};
    return {false, candidates - here.blocked, here.theirs};
  }

 private:
  struct Gpu {
    PlacementSet theirs, blocked;
    bool away = false;
  };
  std::vector<Gpu> gpus_;
};

}  // namespace cleave
