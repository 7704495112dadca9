#pragma once
// The fields of `--query-gpu` and `--query-compute-apps`, by the names that NVIDIA's documentation
// of nvidia-smi gives them.

#include <span>

#include "smi/texts.hpp"

namespace cleave::smi {

/// A field of a GPU.
struct GpuField {
  const char *name, *other_name, *unit, *what;  // the unit is empty for words and plain numbers
  Text (*value)(const NodeReading& node, const GpuReading& gpu);
};
std::span<const GpuField> gpu_fields();

/// A field of a process on a GPU.
struct ProcessField {
  const char *name, *other_name, *unit, *what;
  Text (*value)(const NodeReading& node, const GpuReading& gpu, const ProcessReading& process);
};
std::span<const ProcessField> process_fields();

}  // namespace cleave::smi
