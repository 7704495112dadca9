#pragma once
// The partition state graph of one GPU model and profile set: every legal state, the states one
// more instance leads to, the full states, and two figures for every state: how many full states it
// can still reach (*Managing Multi Instance GPUs*, 4.2: future configuration reachability) and its
// fragmentation cost. Built once and then only read; immutable, so any thread may read it.
//
// A state is a set of placements; states are equal if their placements are (reading M1).
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

/// The graph as tables by state.
class StateGraph {
 public:
  explicit StateGraph(Geometry geometry);

  /// The graph for a model, shared by all callers in the process. For a model that is not in the
  /// tables it is kept as long as it is in use. Thread-safe.
  static std::shared_ptr<const StateGraph> of(const GpuModel& model, ProfileMask profiles);

  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] int size() const { return static_cast<int>(states_.size()); }

  /// Whether every state without two conflicting placements is legal; true for all published
  /// tables.
  [[nodiscard]] bool pairwise() const { return pairwise_; }

  [[nodiscard]] PlacementSet state(StateId id) const { return states_[id]; }
  /// The number of a state; no_state if the set is not legal.
  [[nodiscard]] StateId find(PlacementSet state) const;
  /// The state after adding a placement; no_state if it is not legal or already there.
  [[nodiscard]] StateId add(StateId id, PlacementId placement) const {
    return successors_[cell(id, placement)];
  }
  /// The state without a placement that is in it.
  [[nodiscard]] StateId remove(StateId id, PlacementId placement) const {
    return predecessors_[cell(id, placement)];
  }

  /// The placements that can be added.
  [[nodiscard]] PlacementSet free(StateId id) const { return free_[id]; }
  [[nodiscard]] bool maximal(StateId id) const { return free_[id].empty(); }
  [[nodiscard]] int maximal_states() const { return maximal_states_; }
  /// The number of maximal states that differ in their profiles, wherever those are.
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
