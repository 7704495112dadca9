#pragma once
// Runs in which every job was rejected: the answer is printed, and the command has failed.

#include <optional>
#include <span>

#include "base/result.hpp"
#include "model/run_summary.hpp"

namespace cleave::cli {

/// What is said of runs on one fleet if no job of any of them could run; nothing otherwise.
[[nodiscard]] std::optional<Error> nothing_ran(std::span<const RunSummary* const> runs);

}  // namespace cleave::cli
