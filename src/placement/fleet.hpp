#pragma once
// The state of a fleet while work comes and goes: for each GPU which instances are held by work,
// which are idle (ours, and free to be reused or destroyed), and which are walls (not ours).
// Knows the rules and nothing of policies.
//
// Few states of a GPU ever occur, and many GPUs share each. So a fleet keeps every state that has
// occurred once, under a number, with what it becomes when work takes or leaves a placement; a GPU
// is four bytes, its number. What depends on the state alone - where a policy would place a
// request, how good that is - can be kept by number too, which is what makes a decision independent
// of the size of the fleet.

#include <cassert>
#include <memory>
#include <ranges>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "graph/state_graph.hpp"
#include "model/fleet_file.hpp"
#include "model/ids.hpp"

namespace cleave {

/// What a GPU holds, as decisions see it.
struct GpuState {
  std::uint16_t kind = 0;  // index into Fleet::graphs
  StateId occupied = 0;    // state of held and walls together: what work sees
  std::uint8_t held_compute = 0, held_memory = 0;  // slices
  PlacementSet held, idle, walls;
  bool absent = false;  // withdrawn: takes no work until it comes back; what it holds may end
};

/// Number of a state in one fleet, in the order in which they first occurred.
using StateNumber = std::uint32_t;

/// The GPUs of a fleet and their states.
class Fleet {
 public:
  /// Idle instances of the file stay idle, those with a workload are held; walls are those not
  /// owned, and those without a known workload that are not movable.
  explicit Fleet(const FleetFile& file);

  [[nodiscard]] std::size_t size() const { return gpus_.size(); }
  /// The state as it is now: a reference into `states`, not to be kept across a change of the
  /// fleet.
  [[nodiscard]] const GpuState& operator[](GpuId gpu) const { return states_[gpus_[index(gpu)]]; }

  /// The node that the GPU is of, from 0 in the order of first mention; an appended GPU is a node
  /// of its own.
  [[nodiscard]] std::uint32_t node(GpuId gpu) const { return nodes_[index(gpu)]; }

  /// By node, where the host of some node is limited; otherwise empty.
  [[nodiscard]] const std::vector<HostNode>& hosts() const { return hosts_; }

  /// The GPU changes soon: has the memory fetch what that needs.
  void expect(GpuId gpu) const { __builtin_prefetch(&gpus_[index(gpu)], 1); }

  /// The state of a GPU as a number, and the states behind the numbers; both only grow.
  [[nodiscard]] StateNumber number(GpuId gpu) const { return gpus_[index(gpu)]; }
  [[nodiscard]] const std::vector<GpuState>& states() const { return states_; }

  /// The states of all GPUs, in their order.
  [[nodiscard]] auto gpus() const {
    return gpus_ | std::views::transform(
                       [this](StateNumber number) -> const GpuState& { return states_[number]; });
  }

  /// One graph for each GPU model that occurs, in the order of FleetFile::geometries.
  [[nodiscard]] const std::vector<std::shared_ptr<const StateGraph>>& graphs() const {
    return graphs_;
  }
  [[nodiscard]] const StateGraph& graph(const GpuState& gpu) const { return *graphs_[gpu.kind]; }
  [[nodiscard]] const Geometry& geometry(const GpuState& gpu) const {
    return graph(gpu).geometry();
  }

  /// Idle instances that must go before `placement` can be created on `gpu`: those that conflict
  /// with it, and where a limit on more than two instances still stands in the way, further ones
  /// from the highest number. Empty when the placement is an idle instance already. The placement
  /// must be free of held ones and walls.
  [[nodiscard]] PlacementSet destroys(const GpuState& gpu, PlacementId placement) const;

  /// Work takes `placement`: an idle instance there is reused, otherwise `destroys` go and it is
  /// created.
  void hold(GpuId gpu, PlacementId placement) {
    StateNumber& number = gpus_[index(gpu)];
    assert(!states_[number].held.contains(placement));
    const StateNumber after = after_[cell(number, placement)];
    number = after != unknown ? after : learn_hold(number, placement);
  }
  /// Work leaves; its instance becomes idle.
  void release(GpuId gpu, PlacementId placement) {
    StateNumber& number = gpus_[index(gpu)];
    assert(states_[number].held.contains(placement));
    const StateNumber after = after_[cell(number, placement)];
    number = after != unknown ? after : learn_release(number, placement);
  }
  /// Work leaves and its instance is destroyed at once, for callers that keep no idle instances.
  void vacate(GpuId gpu, PlacementId placement) {
    StateNumber& number = gpus_[index(gpu)];
    const StateNumber after = vacated_[cell(number, placement)];
    number = after != unknown ? after : learn_vacate(number, placement);
  }
  /// The GPU takes no work from now on, or takes it again.
  void withdraw(GpuId gpu) { set_absent(gpu, true); }
  void restore(GpuId gpu) { set_absent(gpu, false); }
  /// Everything on the GPU is gone: work, idle instances and walls.
  void clear(GpuId gpu);
  /// An idle instance is destroyed.
  void destroy_idle(GpuId gpu, PlacementId placement);
  /// One more GPU at the end, empty, of the model with this index in graphs().
  GpuId append(std::size_t kind);

 private:
  static constexpr StateNumber unknown = 0xffffffff;

  // A placement is held or not in a state, so one table serves both ways: what holding it or
  // releasing it leads to.
  [[nodiscard]] std::size_t cell(StateNumber state, PlacementId placement) const {
    return static_cast<std::size_t>(state) * width_ + placement;
  }
  StateNumber intern(const GpuState& state);
  void set_absent(GpuId gpu, bool absent);
  StateNumber learn_hold(StateNumber state, PlacementId placement);
  StateNumber learn_release(StateNumber state, PlacementId placement);
  StateNumber learn_vacate(StateNumber state, PlacementId placement);

  /// Equality, for the table of states.
  struct SameState {
    bool operator()(const GpuState& a, const GpuState& b) const;
  };
  /// Its hash.
  struct HashState {
    std::size_t operator()(const GpuState& state) const;
  };

  std::vector<std::shared_ptr<const StateGraph>> graphs_;
  std::size_t width_ = 0;  // placements of the model that has most
  std::vector<StateNumber> gpus_;
  std::vector<std::uint32_t> nodes_;  // by GPU
  std::uint32_t node_count_ = 0;
  std::vector<HostNode> hosts_;  // by node, or empty
  std::vector<GpuState> states_;
  std::vector<StateNumber> after_, vacated_;
  std::unordered_map<GpuState, StateNumber, HashState, SameState> numbers_;
};

}  // namespace cleave
