#pragma once
// The CUDA program that `cleave probe` compiles, as part of this one.

#include <string_view>

namespace cleave::cli {

/// probes/gpu_probe.cu, from a file that CMake writes.
[[nodiscard]] std::string_view gpu_probe_source();

}  // namespace cleave::cli
