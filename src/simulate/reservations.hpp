#pragma once
// Reservations of GPUs as a simulation is told them, one by one.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/fleet_file.hpp"
#include "model/gpu_reservation.hpp"

namespace cleave {

/// "GPU@FROM-UNTIL" or "GPU@FROM-UNTIL=NAME", in seconds; the GPU by its name in the fleet.
[[nodiscard]] Result<GpuReservation> parse_reservation(std::string_view text,
                                                       const FleetFile& fleet);
/// The same as a text.
[[nodiscard]] std::string text_of(const GpuReservation& reservation, const FleetFile& fleet);
/// Those of one GPU may not overlap.
[[nodiscard]] Result<void> check_reservations(const std::vector<GpuReservation>& reservations,
                                              const FleetFile& fleet);

}  // namespace cleave
