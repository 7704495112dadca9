#pragma once
// The cells of an arena: fleets and workloads on which schedulers are compared, each with what is
// known of the jobs and what may be done with those that run. docs/arena.md describes the file.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/workload_arguments.hpp"
#include "simulate/knowledge.hpp"

namespace cleave {

/// What jobs say of the size that they need.
enum class ArenaRequest : std::uint8_t { memory, profile, nothing };

/// Which world a cell is run in.
enum class ArenaWorld : std::uint8_t {
  plain,    // links and power are left out, and costs do not depend on memory
  physical  // with all that slows real jobs
};
[[nodiscard]] std::string_view name(ArenaWorld world);

/// One line of the file.
struct ArenaCell {
  std::string name, place;  // "cells.jsonl:3"
  std::vector<std::string> workloads;
  std::vector<std::uint64_t> seeds;  // one for each workload
  ArenaRequest request = ArenaRequest::memory;
  cli::RunArguments run;  // what `cleave simulate` would be given, but for the workload and seed
  Knowledge know;
  MayInterrupt may = MayInterrupt::all;
};

/// All settings of the run that cells may name.
[[nodiscard]] std::string settings_text(const cli::RunArguments& run);

/// Fails with the line of the first cell that is wrong. Workloads, and fleets that are files, lie
/// beside `path`.
[[nodiscard]] Result<std::vector<ArenaCell>> parse_arena_cells(std::string_view text,
                                                               const std::string& path,
                                                               ArenaWorld world);

}  // namespace cleave
