#pragma once
// Workload files: one JSON object a line, or the same keys as CSV columns. The format is the contract in
// docs/formats.md.

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/job.hpp"

namespace cleave {

/// Reads either form; CSV when the first character is not '{'. `place` is the file's name. Every profile
/// named must be one of some known GPU; whether the fleet has it is for the run to say.
[[nodiscard]] Result<Workload> parse_workload(std::string_view text, const std::string& place);

/// One line of JSON a job, the way parse_workload reads it.
std::string workload_text(const Workload& workload);

}  // namespace cleave
