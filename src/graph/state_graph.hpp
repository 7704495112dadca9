#pragma once
// The partition state graph of one GPU model and profile set: every legal state, what each can
// become by one more instance, which are full, and two figures for every state - how many full
// states it can still reach
// (*Managing Multi Instance GPUs*, 4.2: future configuration reachability) and its fragmentation
// cost. Built once, then only looked up; immutable, so any thread may read it.
//
// A state is a set of placements; two states are the same when their placements are (reading M1).
// States are numbered by size, then in the order of their placements: the empty state is 0, and a
// state's number is always below those of the states that contain it.

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/fragmentation.hpp"
#include "model/geometry.hpp"

namespace cleave {

using StateId = std::uint16_t;
inline constexpr StateId no_state = 0xffff;

class StateGraph {
 public:
  explicit StateGraph(Geometry geometry);

  /// The graph for a model, shared by everybody in the process who asks for the same one; of a
  /// model that is not in the tables as long as somebody has it. Thread-safe.
  static std::shared_ptr<const StateGraph> of(const GpuModel& model, ProfileMask profiles);

  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] int size() const { return static_cast<int>(states_.size()); }

  /// Whether a state is legal as soon as no two of its placements conflict; so for all published
  /// tables.
  [[nodiscard]] bool pairwise() const { return pairwise_; }

  [[nodiscard]] PlacementSet state(StateId id) const { return states_[id]; }
  /// Number of a state; no_state when the set is not legal.
  [[nodiscard]] StateId find(PlacementSet state) const;
  /// The state after adding a placement; no_state when that is not legal or it is there already.
  [[nodiscard]] StateId add(StateId id, PlacementId placement) const {
    return successors_[cell(id, placement)];
  }
  /// The state without a placement that is in it.
  [[nodiscard]] StateId remove(StateId id, PlacementId placement) const {
    return predecessors_[cell(id, placement)];
  }

  /// Placements that can be added.
  [[nodiscard]] PlacementSet free(StateId id) const { return free_[id]; }
  [[nodiscard]] bool maximal(StateId id) const { return free_[id].empty(); }
  [[nodiscard]] int maximal_states() const { return maximal_states_; }
  /// Maximal states counted as multisets of profiles, wherever they stand.
  [[nodiscard]] int maximal_multisets() const;

  /// How many maximal states contain this one.
  [[nodiscard]] int reachability(StateId id) const { return reachability_[id]; }
  [[nodiscard]] FragmentationCost cost(StateId id) const { return cost_[id]; }
  [[nodiscard]] ComputeSlices compute(StateId id) const { return {compute_[id]}; }
  [[nodiscard]] MemorySlices memory(StateId id) const { return {memory_[id]}; }
  /// The longest run of memory slices that no instance covers.
  [[nodiscard]] MemorySlices longest_free_run(StateId id) const { return {longest_free_run_[id]}; }

 private:
  [[nodiscard]] std::size_t cell(StateId id, PlacementId placement) const {
    return static_cast<std::size_t>(id) * width_ + placement;
  }
  void enumerate();
  void connect();
  void measure();

  Geometry geometry_;
  std::size_t width_;
  std::vector<PlacementSet> states_;
  std::vector<StateId> slots_;  // open addressing by the state's bits, a power of two long
  std::vector<StateId> successors_, predecessors_;
  std::vector<PlacementSet> free_;
  std::vector<std::uint16_t> reachability_;
  std::vector<FragmentationCost> cost_;
  std::vector<std::uint8_t> compute_, memory_, longest_free_run_;
  int maximal_states_ = 0;
  bool pairwise_ = true;
};

}  // namespace cleave
