#pragma once
// The simulated fleet: it carries out a scheduler's commands and refuses, as hardware would, whatever is not
// legal. It keeps its own account of what exists and trusts no scheduler's. Its refusals are errors of kind
// `internal`: a scheduler that causes one has a bug, and the run ends there.

#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/event.hpp"
#include "placement/fleet.hpp"

namespace cleave {

/// One GPU: which instances exist, which of them run a job, and from when its driver is free to change it
/// again.
struct SimulatedGpu {
  std::uint16_t kind = 0;
  StateId existing = 0;  // all instances, walls too
  StateId occupied = 0;  // those held by work, and walls
  PlacementSet idle;     // exist, run nothing, ours
  PlacementSet walls;
  std::uint8_t held_compute = 0, held_memory = 0;
  bool whole = false;  // MIG off, one job has it all
  Instant ready{};     // when the last change to its instances is done
  PlacementSet
      destroyed;         // since the last change that took time: one command of the driver with the next one
  PlacementSet created;  // made last: a job that starts there waits until it is ready
};

class World {
 public:
  explicit World(const Fleet& start);

  [[nodiscard]] const std::vector<SimulatedGpu>& gpus() const { return gpus_; }
  [[nodiscard]] const StateGraph& graph(const SimulatedGpu& gpu) const { return *graphs_[gpu.kind]; }

  /// Destroys and creates take the time of physics/reconfiguration.hpp, one change of a GPU after the other.
  /// The destroys in front of a create are one command of the driver.
  [[nodiscard]] Result<void> destroy(GpuId gpu, PlacementId placement);
  [[nodiscard]] Result<void> create(GpuId gpu, PlacementId placement, Instant now);
  /// When the job begins to run: now on an instance that was there, after the create on one just made.
  [[nodiscard]] Result<Instant> start(GpuId gpu, PlacementId placement, Instant now);
  /// On a GPU without instances; after the destroys in front of it.
  [[nodiscard]] Result<Instant> start_whole(GpuId gpu, Instant now);
  void end(GpuId gpu, PlacementId placement);
  void end_whole(GpuId gpu);

  [[nodiscard]] std::size_t creates() const { return creates_; }
  [[nodiscard]] std::size_t destroys() const { return destroys_; }

 private:
  SimulatedGpu& at(GpuId gpu) { return gpus_[index(gpu)]; }

  std::vector<std::shared_ptr<const StateGraph>> graphs_;
  std::vector<SimulatedGpu> gpus_;
  std::size_t creates_ = 0, destroys_ = 0;
};

}  // namespace cleave
