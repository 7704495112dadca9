#pragma once
// What a job of a workload asks for: a profile, a size or a model, beside a kernel; a share of a
// GPU; whole GPUs; and of how many such.

#include <optional>

#include "base/json.hpp"
#include "model/workload_file.hpp"

namespace cleave {

/// Computes the sizes that jobs state in another way; either may be empty.
struct JobSizers {
  const ModelSizer& models;
  const KernelSizer& kernels;
};

/// Reads the keys of the request; what is wrong is kept by `in`, which reads `job`.
[[nodiscard]] Request read_request(JsonReader& in, const Json& job, const JobSizers& sizers);

}  // namespace cleave
