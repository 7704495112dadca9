#pragma once
// `cleave bench forecast`, training: how long it takes to learn completion times from 2,475
// measured jobs, the held-out trainings for interval and figures included.

#include <optional>

#include "forecast/time/completion_time.hpp"

namespace cleave {

/// How long learning and forecasting took.
struct TrainingBench {
  std::size_t rows = 0;
  int repeats = 0;
  double seconds_median = 0, seconds_least = 0;  // of one training
  double prediction_ns = 0;                      // one forecast, its range and reach checked
};

/// Eleven invented models on five profiles, nine batches and one to five processes, 2,475 rows: the
/// shape of ParvaGPU's profiles, times by the law of docs/workloads.md's speeds with 3 % of noise.
/// Same seed, same rows.
MeasuredJobs invented_jobs(std::uint64_t seed);

/// Trains `repeats` times on `jobs`, by default invented ones.
[[nodiscard]] Result<TrainingBench> bench_training(
    int repeats, const std::optional<MeasuredJobs>& jobs = std::nullopt);

}  // namespace cleave
