#pragma once
// Which spots of each GPU no job will ever have: those in the way of others' instances and of the
// fleet's own work, and all while the GPU takes no work.

#include <vector>

#include "engine/scheduler.hpp"
#include "model/event.hpp"

namespace cleave {

/// What others have, by GPU.
class NeverOurs {
 public:
  explicit NeverOurs(const Fleet& fleet) {
    for (const GpuState& gpu : fleet.gpus())
      gpus_.push_back({fleet.geometry(gpu).blocked(gpu.held | gpu.walls), gpu.absent});
  }

  void hear(const GpuLost& lost) { gpus_[index(lost.gpu)] = {{}, true}; }
  void hear(const GpuReturned& returned) { gpus_[index(returned.gpu)].away = false; }
  void hear(const GpuWithdrawn& withdrawn) { gpus_[index(withdrawn.gpu)].away = true; }
  void hear(const GpuRestored& restored) { gpus_[index(restored.gpu)].away = false; }
  void hear(const InstanceGone& /*gone*/) {}

  /// Those of the candidates that a job may have one day.
  [[nodiscard]] PlacementSet beside(GpuId gpu, PlacementSet candidates) const {
    const Gpu& here = gpus_[index(gpu)];
    return here.away ? PlacementSet{} : candidates - here.blocked;
  }

 private:
  struct Gpu {
    PlacementSet blocked;
    bool away = false;
  };
  std::vector<Gpu> gpus_;
};

}  // namespace cleave
