#pragma once
// A job's memory reports as a CSV file, and how a forecaster responds to them one after the other.

#include <string_view>
#include <vector>

#include "base/bad_lines.hpp"
#include "forecast/memory/forecaster.hpp"

namespace cleave {

/// The reports of one job.
struct MemorySeries {
  std::vector<MemoryReport> reports;  // iterations rise
  std::size_t missing = 0;            // rows without a value
};

/// Columns `iteration,requested_mib,allocated_mib`, and, if the context is not in the last,
/// `context_mib` and what else of `report_parts` is known; others are ignored. `iterations` is the
/// last iteration if it is known. A row with an empty cell is a missing sample; rows that are not
/// in the order of their iterations are an error, or bad lines that are passed over. `place` is the
/// file's name.
[[nodiscard]] Result<MemorySeries> read_memory_series(std::string_view text,
                                                      const std::string& place,
                                                      std::optional<std::int64_t> iterations,
                                                      BadLines* bad_lines = nullptr);

/// What a forecaster said, and when.
struct Watched {
  std::vector<std::optional<ExpectedPeak>> said;  // after each report
  std::optional<std::size_t> spoke;               // the first report with a prediction
  std::optional<std::size_t> alarm;     // the report after which the peak exceeded the capacity
  std::optional<std::size_t> overflow;  // the report that itself exceeds the capacity

  /// Whether the job would have been restarted before it ran out of memory, or although it never
  /// did.
  [[nodiscard]] bool restarted() const { return alarm && (!overflow || *alarm < *overflow); }
};

/// Shows the reports to the forecaster as the engine does; null: without a forecaster. `context` is
/// memory on the instance that reports without one leave out.
[[nodiscard]] Watched watch(Forecaster* forecaster, const std::vector<MemoryReport>& reports,
                            std::optional<MiB> capacity, MiB context = {});

}  // namespace cleave
