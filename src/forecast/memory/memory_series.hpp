#pragma once
// A job's memory reports as a CSV file, and what a forecaster makes of them one after the other.

#include <string_view>
#include <vector>

#include "forecast/memory/forecaster.hpp"

namespace cleave {

struct MemorySeries {
  std::vector<MemoryReport> reports;  // iterations rise
  std::size_t missing = 0;            // rows without a value
};

/// Columns `iteration,requested_mib,allocated_mib`; others are passed over. `iterations` is the
/// last iteration where it is known. A row with an empty cell is a sample that is missing; rows
/// that are not in the order of their iterations are an error. `place` is the file's name.
[[nodiscard]] Result<MemorySeries> read_memory_series(std::string_view text,
                                                      const std::string& place,
                                                      std::optional<std::int64_t> iterations);

struct Watched {
  std::vector<std::optional<ExpectedPeak>> said;  // after each report
  std::optional<std::size_t> spoke;               // the first report after which anything was said
  std::optional<std::size_t> alarm;               // after which the peak was beyond the capacity
  std::optional<std::size_t> overflow;            // that is itself beyond the capacity

  /// Whether a restart would have come before the job ran out of memory, or where it never did.
  [[nodiscard]] bool restarted() const { return alarm && (!overflow || *alarm < *overflow); }
};

/// Shows the reports to the forecaster as the engine does; null watches without one. `context` is
/// what the reports leave out and the instance holds besides.
[[nodiscard]] Watched watch(Forecaster* forecaster, const std::vector<MemoryReport>& reports,
                            std::optional<MiB> capacity, MiB context = {});

}  // namespace cleave
