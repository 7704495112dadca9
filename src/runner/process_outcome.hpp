#pragma once
// How one attempt of a job ended: the supervisor writes it once, synced, before it goes. The file
// is the daemon's user's, and only the supervisor writes into it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "base/time.hpp"
#include "model/memory_report.hpp"

namespace cleave {

/// Reports count from 1 within an attempt; some may be missing where they came too fast or were too
/// many.
struct NumberedReport {
  std::int64_t sequence = 0;
  MemoryReport report;
};

/// The last line of the job's error output that speaks of a GPU's memory.
struct OutOfMemorySeen {
  std::string framework;
  std::optional<MiB> requested;
};

struct ProcessOutcome {
  enum class End : std::uint8_t { exited, signalled, not_started };
  End end = End::exited;
  int code = 0;  // exit status, number of the signal, or of the error that kept it from starting
  std::string reason;                             // why it did not start
  bool stopped = false;                           // somebody had asked for it
  Instant began_at{}, ended_at{};                 // wall clock
  Duration lasted{};                              // a clock that nobody sets
  std::int64_t out_dropped = 0, err_dropped = 0;  // bytes that the logs no longer have
  std::int64_t leftovers = 0;                     // processes that were still there and were ended
  std::optional<OutOfMemorySeen> out_of_memory;
  std::vector<NumberedReport> reports;  // the last few
};

/// "exited with 3", "ended by signal 9 (Killed)", "not started: ..."
[[nodiscard]] std::string in_words(const ProcessOutcome& outcome);

[[nodiscard]] std::string outcome_text(const ProcessOutcome& outcome);
[[nodiscard]] Result<ProcessOutcome> parse_outcome(std::string_view text, const std::string& place);
/// The text in one line, and a second line by which it is seen that the first is whole, since it is
/// written in its place: "whole LENGTH SUM", with the 64-bit FNV-1a sum of the first line.
[[nodiscard]] std::string outcome_record(const ProcessOutcome& outcome);
/// The text of a record; nothing where it is not whole.
[[nodiscard]] std::optional<std::string_view> whole_record(std::string_view record);
inline constexpr std::int64_t longest_outcome = 64 << 10;
inline constexpr std::size_t most_reports_in_outcome = 128;

}  // namespace cleave
