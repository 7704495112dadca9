#pragma once
// The state of a fleet while work comes and goes: for each GPU which instances are held by work, which are
// idle (ours, and free to be reused or destroyed), and which are walls (somebody else's). Small fixed-size
// records without names, since decisions are made on millions of them. Knows the rules and nothing of
// policies.

#include <memory>
#include <vector>

#include "base/result.hpp"
#include "graph/state_graph.hpp"
#include "model/fleet_file.hpp"
#include "model/ids.hpp"

namespace cleave {

struct GpuState {
  std::uint16_t kind = 0;                          // index into Fleet::graphs
  StateId occupied = 0;                            // state of held and walls together: what work sees
  std::uint8_t held_compute = 0, held_memory = 0;  // slices
  PlacementSet held, idle, walls;
};

class Fleet {
 public:
  /// Idle instances of the file stay idle, those with a workload are held, and those not owned are walls.
  explicit Fleet(const FleetFile& file);

  [[nodiscard]] std::size_t size() const { return gpus_.size(); }
  [[nodiscard]] const GpuState& operator[](GpuId gpu) const { return gpus_[index(gpu)]; }
  [[nodiscard]] const std::vector<GpuState>& gpus() const { return gpus_; }

  /// One graph for each GPU model that occurs, in the order of FleetFile::geometries.
  [[nodiscard]] const std::vector<std::shared_ptr<const StateGraph>>& graphs() const { return graphs_; }
  [[nodiscard]] const StateGraph& graph(const GpuState& gpu) const { return *graphs_[gpu.kind]; }
  [[nodiscard]] const Geometry& geometry(const GpuState& gpu) const { return graph(gpu).geometry(); }

  /// Idle instances that must go before `placement` can be created on `gpu`: those that conflict with it, and
  /// where a limit on more than two instances still stands in the way, further ones from the highest number.
  /// Empty when the placement is an idle instance already. The placement must be free of held ones and walls.
  [[nodiscard]] PlacementSet destroys(const GpuState& gpu, PlacementId placement) const;

  /// Work takes `placement`: an idle instance there is reused, otherwise `destroys` go and it is created.
  void hold(GpuId gpu, PlacementId placement);
  /// Work leaves; its instance becomes idle.
  void release(GpuId gpu, PlacementId placement);

 private:
  std::vector<std::shared_ptr<const StateGraph>> graphs_;
  std::vector<GpuState> gpus_;
};

}  // namespace cleave
