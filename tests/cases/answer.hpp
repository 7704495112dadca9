#pragma once
// How answers are written in the words of the cases.

#include <vector>

#include "base/json.hpp"
#include "base/ratio.hpp"
#include "graph/state_graph.hpp"

namespace cleave::cases {

/// {"value": 0.4, "exact": "2/5"}
Json rational(Ratio ratio);

/// {"profile", "start"}
Json instance(const Geometry& geometry, PlacementId id);

/// A set of instances as a list, by start and then by profile.
Json instances(const Geometry& geometry, PlacementSet set);

/// States by their number of placements, then by their lists of (start, profile).
std::vector<StateId> listed(const StateGraph& graph, std::vector<StateId> states);

}  // namespace cleave::cases
