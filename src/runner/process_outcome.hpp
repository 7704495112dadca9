#pragma once
// How one attempt of a job ended: the supervisor writes it once, whole and synced, before it goes. The file
// lies in the job's folder and belongs to the job's user, who can lie in it about his own job and about
// nothing else; it is read with that in mind.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "base/time.hpp"
#include "model/memory_report.hpp"

namespace cleave {

/// Reports count from 1 within an attempt; some may be missing where they came too fast or were too many.
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
  int code = 0;          // exit status, number of the signal, or of the error that kept it from starting
  std::string reason;    // why it did not start
  bool stopped = false;  // somebody had asked for it
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
inline constexpr std::int64_t longest_outcome = 64 << 10;
inline constexpr std::size_t most_reports_in_outcome = 128;

}  // namespace cleave
