#pragma once
// The node's GPUs as a fleet, in the form that an engine is made from: instances of ours are idle
// in it, those of others are walls, and so are places that a plan keeps.

#include "control/node/node_state.hpp"
#include "model/fleet_file.hpp"

namespace cleave {

[[nodiscard]] FleetFile fleet_of(const NodeState& node);

}  // namespace cleave
