#pragma once
// What becomes of a lease by what was counted of its work (node/idle_time.hpp). Pure functions; it
// is done by loop/lease_keeper.hpp.

#include <cstdint>
#include <optional>

#include "control/node/node_state.hpp"

namespace cleave {

/// What a lease that runs is to do now.
enum class LeaseVerdict : std::uint8_t { stays, is_given_back, shrinks, grows };

/// One that shrinks or grows may have the size already, and there may be no room for another: the
/// engine knows. Nothing happens to one that is being stopped or moved.
[[nodiscard]] LeaseVerdict judge_lease(const NodeState& node, const LiveJob& lease, Duration now);

/// What it holds while it is idle; of one that shrinks.
[[nodiscard]] MiB held_when_idle(const JobSpec& spec);

}  // namespace cleave
