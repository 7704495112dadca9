#pragma once
// How one attempt of a job ended. The supervisor writes it once, synced, before it exits. The file
// belongs to the daemon's user, and only the supervisor writes to it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "base/time.hpp"
#include "model/memory_report.hpp"

namespace cleave {

/// A memory report with its number, from 1 within an attempt. Numbers are missing where reports
/// came too fast or were too many.
struct NumberedReport {
  std::int64_t sequence = 0;
  MemoryReport report;
};

/// A line of the job's error output that says the GPU's memory ran out.
struct OutOfMemorySeen {
  std::string framework;
  std::optional<MiB> requested;
};

/// The end of an attempt.
struct ProcessOutcome {
  enum class End : std::uint8_t { exited, signalled, not_started };
  End end = End::exited;
  int code = 0;  // exit status, number of the signal, or of the error that kept it from starting
  std::string reason;                             // why it did not start
  bool stopped = false;                           // a stop had been requested
  bool checkpointed = false;                      // its checkpoint command had succeeded
  Instant began_at{}, ended_at{};                 // wall clock
  Duration lasted{};                              // by a monotonic clock
  std::int64_t out_dropped = 0, err_dropped = 0;  // bytes that the logs no longer have
  std::int64_t leftovers = 0;  // processes that it left behind and that were ended
  std::optional<MiB> used_up;  // the host's memory that it was given, for which it was killed
  std::optional<OutOfMemorySeen> out_of_memory;
  std::vector<NumberedReport> reports;  // the last few
};

/// "exited with 3", "ended by signal 9 (Killed)", "not started: ..."
[[nodiscard]] std::string in_words(const ProcessOutcome& outcome);

[[nodiscard]] std::string outcome_text(const ProcessOutcome& outcome);
[[nodiscard]] Result<ProcessOutcome> parse_outcome(std::string_view text, const std::string& place);
/// The text in one line, and a second line that shows whether the first is complete, since it is
/// written in place: "whole LENGTH SUM", with the 64-bit FNV-1a hash of the first line.
[[nodiscard]] std::string outcome_record(const ProcessOutcome& outcome);
/// The text of a record; empty if it is not complete.
[[nodiscard]] std::optional<std::string_view> whole_record(std::string_view record);
inline constexpr std::int64_t longest_outcome = 64 << 10;
inline constexpr std::size_t most_reports_in_outcome = 128;

}  // namespace cleave
