#pragma once
// GPUs that are set aside beforehand: for a course, for a demonstration, for maintenance.

#include <string>

#include "base/time.hpp"
#include "model/ids.hpp"

namespace cleave {

/// From one time to the other only jobs of this user or account start on the GPU, and before it
/// only others that are expected to have ended by then. Running jobs are not stopped.
struct GpuReservation {
  GpuId gpu{};
  Instant from{}, until{};
  std::string name;  // of a user or an account; empty: no job starts
};

/// A job whose time is not known is taken to last so long when a reservation comes.
inline constexpr Duration unknown_before_reservation = std::chrono::hours(24);

}  // namespace cleave
