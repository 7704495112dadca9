#pragma once
// The rows of a profile repository as schedulers take them that choose partitions by batches.

#include <vector>

#include "engine/job_facts.hpp"
#include "forecast/choice/profile_repository.hpp"
#include "model/gpu_model.hpp"

namespace cleave {

/// Latencies and throughputs of the records of this model that have both; `kind` is the model's
/// place among the fleet's.
[[nodiscard]] std::vector<BatchRow> batch_rows_of(const ProfileRepository& repository,
                                                  const GpuModel& model, std::size_t kind);

}  // namespace cleave
