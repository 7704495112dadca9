#pragma once
// What monitoring sampled of GPUs, as CSV: the metrics of NVIDIA's DCGM as dcgm-exporter or dmon
// name them, a row for each time and GPU. Samples that name a job belong to it. Others belong to
// the job that had GPUs on their node at their time, where there was only one.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bad_lines.hpp"
#include "base/result.hpp"
#include "model/gpu_use.hpp"

namespace cleave {

/// A job that samples may be of.
struct SampledJob {
  std::string_view id, other_id;  // two names of it; the second may be empty
  std::string_view node;          // empty: unknown, or several
  double from = 0, until = 0;     // seconds since 1970
  std::size_t gpus = 1;           // on the node
};

/// What was sampled of each job, and of how many samples nothing came.
struct JoinedSamples {
  std::vector<SeenUse> by_job;
  std::size_t read = 0, of_no_job = 0, ambiguous = 0;
};

/// Of the GPUs of a node, a job has those that were busiest while it ran alone there. `place` is
/// the file's name.
[[nodiscard]] Result<JoinedSamples> join_samples(std::string_view text, const std::string& place,
                                                 std::span<const SampledJob> jobs, BadLines* bad);

}  // namespace cleave
