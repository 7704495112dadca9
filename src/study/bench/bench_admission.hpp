#pragma once
// `cleave bench admission`: what an exact answer about a whole batch costs when the sums are kept
// while the fleet changes, and what keeping them costs.

#include <cstddef>
#include <string>
#include <vector>

#include "model/gpu_model.hpp"

namespace cleave {

struct AdmissionBench {
  std::size_t gpus = 0;
  double answer_ns = 0;   // a batch of random demand
  double change_ns = 0;   // a GPU changes its state
  double anew_ms = 0;     // all sums from all GPUs
  bool identical = true;  // kept sums answer as sums made anew
};

std::vector<AdmissionBench> bench_admission(const GpuModel& model,
                                            const std::vector<std::size_t>& sizes);

}  // namespace cleave
