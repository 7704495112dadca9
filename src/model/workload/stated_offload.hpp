#pragma once
// What a job of a workload may leave on the host where its instance is too small.

#include <optional>

#include "base/json.hpp"
#include "model/job.hpp"

namespace cleave {

/// Nothing where the job does not offload; what is wrong is kept by `in`.
[[nodiscard]] std::optional<Offload> read_offload(JsonReader& in, const Request& request,
                                                  const JobDetails& details, Duration duration);

}  // namespace cleave
