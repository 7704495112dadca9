#pragma once
// How fast a job of a workload is: a table by profile, phases or a law, and what it takes from its
// neighbours.

#include "base/json.hpp"
#include "model/job.hpp"

namespace cleave {

/// Reads the keys of the speed; what is wrong is kept by `in`.
[[nodiscard]] SpeedModel read_speed(JsonReader& in);

}  // namespace cleave
