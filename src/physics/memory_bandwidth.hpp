#pragma once
// The bandwidth that kernels reach in the memory of one GPU instance, as measured: only for GPUs
// and profiles on which somebody has measured it.

#include <string_view>

#include "model/gpu_model.hpp"

namespace cleave {

/// One measurement: a kernel copies within the instance's memory, reads and writes both counted.
struct MeasuredBandwidth {
  GpuModelId model;
  std::string_view profile;
  double gib_per_s;  // GiB are 2^30 bytes
  std::string_view source;
};

/// That of a profile; null where nobody measured it.
[[nodiscard]] const MeasuredBandwidth* measured_bandwidth(const GpuModel& model,
                                                          std::string_view profile);

}  // namespace cleave
