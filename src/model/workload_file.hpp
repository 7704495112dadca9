#pragma once
// Workload files: one JSON object a line, or the same keys as CSV columns. The format is the
// contract in docs/formats.md.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/job.hpp"

namespace cleave {

/// A job's model in place of its memory: what it is, and how the job uses it as far as it says.
struct ModelUse {
  std::string shape;      // config.json, F.safetensors, F.gguf, SHAPES.json#NAME or vision:NAME
  std::string precision;  // of the weights; empty: as the model has them
  std::int64_t batch = 1;
  std::int64_t context = 0;  // tokens of a sequence; 0: the usual
  bool train = false;
  friend auto operator<=>(const ModelUse&, const ModelUse&) = default;
};

/// The memory that a model takes; whoever opens files gives this, and finds those named from the
/// workload's.
using ModelSizer = std::function<Result<MiB>(const ModelUse&)>;

/// Reads either form; CSV when the first character is not '{'. `place` is the file's name. Every
/// profile named must be one of some known GPU; whether the fleet has it is for the run to say.
/// Jobs that name a model ask for the size that `sizer` says, and are refused without one.
[[nodiscard]] Result<Workload> parse_workload(std::string_view text, const std::string& place,
                                              const ModelSizer& sizer = {});

/// One line of JSON a job, the way parse_workload reads it.
std::string workload_text(const Workload& workload);

}  // namespace cleave
