#pragma once
// `cleave bench nvml`: what a call costs through the simulated library, whose node is instant, and
// what Cleave's door adds to it. What is timed is the product's own path: the library as programs
// load it, and the door as every command uses it.

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/gpu_model.hpp"

namespace cleave {

struct NvmlBenchOptions {
  std::string library;  // libnvidia-ml.so.1 of the simulation
  const GpuModel* model = nullptr;
  Duration time = std::chrono::milliseconds(50);  // for each way of each operation
};

struct NvmlBench {
  std::string operation;
  int calls = 0;          // of the library, in the least that does the operation
  double library_ns = 0;  // of these calls together
  double door_ns = 0;     // of the operation through the door
};

/// Medians over many rounds. On a node of its own, which is gone afterwards: one GPU full of the
/// model's smallest profile for what reads, and an empty one for what creates and destroys. Sets
/// CLEAVE_SIM_NODE for the time; fails where the library is not the simulated one.
[[nodiscard]] Result<std::vector<NvmlBench>> bench_nvml(const NvmlBenchOptions& options);

}  // namespace cleave
