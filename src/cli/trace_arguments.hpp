#pragma once
// How a trace is read: options that every command with a trace has, and what is said about it.

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "simulate/traces/trace.hpp"

namespace cleave::cli {

/// The options as they were given, and what they mean.
struct TraceArguments {
  std::string rule = "round-up", compress = "1", several = "gpus", shares = "whole", gap = "1m";
  std::string sizes = "used", dcgm, application;
  std::uint64_t limit = 0, processors_per_gpu = 1;
  std::vector<Option*> given;   // each of them, given or not
  bool skip_bad_lines = false;  // of workload files too

  void add(CommandLine& command);
  /// Refuses options that the trace's format does not have.
  /// Lines that are passed over are counted in `bad`.
  [[nodiscard]] Result<TraceOptions> read(const std::string& trace, std::uint64_t seed,
                                          BadLines& bad) const;
  /// Refuses all of them.
  [[nodiscard]] Result<void> without_trace() const;
};

/// `--skip-bad-lines` of a command that reads one table.
Option* add_skip_bad_lines(CommandLine& command, bool& skip);

/// Lines that were passed over, the first of them each with its place and what is wrong, on
/// standard error; nothing where there are none.
void report(const BadLines& bad);

/// "FORMAT:FILE (what it is)" of every format.
[[nodiscard]] std::vector<std::string> trace_forms();

/// How the trace was read, what was left out and why, a line each; of other workloads only which
/// lines were passed over.
[[nodiscard]] std::string trace_text(const Workload& workload);

}  // namespace cleave::cli
