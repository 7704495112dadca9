#pragma once
// How much may still come to a GPU: what is lost of it is what a placement does to others.

#include <memory>
#include <vector>

#include "graph/state_graph.hpp"

namespace cleave {

/// The mean of its compute and memory slices.
[[nodiscard]] double slices_of(const Profile& profile);
/// The size of a placement: the mean of its parts of compute and memory slices, of the GPU.
[[nodiscard]] double area_of(const Geometry& geometry, PlacementId place);

/// By state: over all profiles how many still fit, each by its size, larger ones a little more.
class RoomLeft {
 public:
  explicit RoomLeft(std::shared_ptr<const StateGraph> graph);
  [[nodiscard]] double in(StateId state);
  /// What the placement takes away.
  [[nodiscard]] double lost(StateId state, PlacementId place) {
    return in(state)-in(graph_->add(state, place));
  }

 private:
  std::shared_ptr<const StateGraph> graph_;
  std::vector<double> known_;  // below 0: not yet
};

}  // namespace cleave
