#pragma once
// Where a batch of instances goes on one GPU when only idle instances may be touched: merge and
// split
// (*Dyna-P*, 3.2, Equations 9 and 10; reading D13).

#include <optional>
#include <vector>

#include "graph/state_graph.hpp"

namespace cleave {

/// A placement for each profile (index into the model) around `occupied`, the fewest instances
/// destroyed and created; ties: the lowest placements. nullopt where there is no layout. At most as
/// many profiles as a GPU takes instances.
[[nodiscard]] std::optional<std::vector<PlacementId>> arrange(const StateGraph& graph,
                                                              StateId occupied, PlacementSet idle,
                                                              const std::vector<int>& profiles);

}  // namespace cleave
