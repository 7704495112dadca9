#pragma once
// Where a batch of instances goes on one GPU when only idle instances may be touched: merge and
// split (*Dyna-P*, 3.2, Equations 9 and 10; reading D13).

#include <optional>
#include <vector>

#include "graph/state_graph.hpp"

namespace cleave {

/// When the instances of a GPU are free again, in any unit of time.
struct InstanceEnds {
  std::vector<double> held;    // by placement; of those that are not held whatever is there
  std::vector<double> wanted;  // by profile to be placed
};

/// A placement for each profile (index into the model) around `occupied`, the fewest instances
/// destroyed and created; ties: the lowest placements. nullopt where there is no layout. At most as
/// many profiles as a GPU takes instances.
///
/// With `ends`, what is equally cheap is chosen such that larger instances can be made soon again:
/// the sum, over all placements of the model, of slices times the moment when the last in its way
/// ends is least. So jobs that end together stand side by side (*Dyna-P*, Figure 3). Jobs of one
/// profile are placed in the order in which they end.
[[nodiscard]] std::optional<std::vector<PlacementId>> arrange(const StateGraph& graph,
                                                              StateId occupied, PlacementSet idle,
                                                              const std::vector<int>& profiles,
                                                              const InstanceEnds* ends = nullptr);

}  // namespace cleave
