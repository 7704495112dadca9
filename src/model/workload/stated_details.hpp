#pragma once
// What only few jobs of a workload say of themselves.

#include "base/json.hpp"
#include "model/job.hpp"

namespace cleave {

/// Reads the keys of the details; what is wrong is kept by `in`.
[[nodiscard]] JobDetails read_details(JsonReader& in);

}  // namespace cleave
