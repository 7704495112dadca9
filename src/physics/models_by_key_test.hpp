#pragma once
// For tests: a GPU model by its key, which is there.

#include <string_view>

#include "model/gpu_model.hpp"

namespace cleave {

inline const GpuModel& model(std::string_view key) {
  return **find_gpu_model(key);
}

}  // namespace cleave
