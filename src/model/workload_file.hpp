#pragma once
// Workload files: one JSON object a line, or the same keys as CSV columns. The format is the
// contract in docs/formats.md.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/bad_lines.hpp"
#include "base/result.hpp"
#include "model/job.hpp"
#include "model/kernel_use.hpp"

namespace cleave {

/// A model that a job names instead of its memory, and how the job uses it.
struct ModelUse {
  std::string shape;      // config.json, F.safetensors, F.gguf, SHAPES.json#NAME or vision:NAME
  std::string precision;  // of the weights; empty: that of the model
  std::int64_t batch = 1;
  std::int64_t context = 0;  // tokens of a sequence; 0: the default
  bool train = false;
  friend auto operator<=>(const ModelUse&, const ModelUse&) = default;
};

/// Computes the memory that a model takes. The caller provides it, since it opens files; relative
/// names are relative to the workload's file.
using ModelSizer = std::function<Result<MiB>(const ModelUse&)>;

/// Computes the compute slices on which a kernel takes no more time steps than on a whole GPU.
using KernelSizer = std::function<Result<ComputeSlices>(const KernelUse&)>;

/// Reads either form; CSV when the first character is not '{'. `place` is the file's name. Every
/// profile named must belong to some known GPU; whether the fleet has it is checked by the run.
/// Jobs that name a model ask for the size that `sizer` computes, those that name a kernel for at
/// least the compute that `kernels` computes; without these they are refused. Lines that are
/// refused are passed over where `bad` is not null, and counted in the notes of the workload.
[[nodiscard]] Result<Workload> parse_workload(std::string_view text, const std::string& place,
                                              const ModelSizer& sizer = {},
                                              const KernelSizer& kernels = {},
                                              BadLines* bad = nullptr);

/// One line of JSON for each job, as parse_workload reads it.
std::string workload_text(const Workload& workload);

}  // namespace cleave
