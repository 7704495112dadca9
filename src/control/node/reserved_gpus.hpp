#pragma once
// GPUs that the operator sets aside beforehand, as the settings name them and as schedulers see
// them.

#include <vector>

#include "control/node/node_state.hpp"
#include "control/settings.hpp"
#include "model/gpu_reservation.hpp"

namespace cleave {

/// Whether each that is not over at `now`, on the wall clock, is of a managed GPU, and no two of
/// one GPU overlap.
[[nodiscard]] Result<void> check_reserved(const std::vector<ReservedGpu>& reserved,
                                          const NodeState& node, Instant now);

/// Those of managed GPUs that are not over at `now` and begin before `horizon`.
[[nodiscard]] std::vector<GpuReservation> reservations_of(const std::vector<ReservedGpu>& reserved,
                                                          const NodeState& node, Instant now,
                                                          Instant horizon = Instant::max());

}  // namespace cleave
