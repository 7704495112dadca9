#pragma once
// Public traces, read as they are published and turned into workloads. Which records are left out, and under
// which rule a recorded demand became a request, stays with the workload and is printed with every result.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ratio.hpp"
#include "base/result.hpp"
#include "model/job.hpp"

namespace cleave {

struct TraceOptions {
  ShareRule rule = ShareRule::round_up;
  Ratio compress{1, 1};              // arrivals come this many times faster; run times stay
  std::optional<std::size_t> limit;  // only the first so many records by arrival
};

struct TraceFormat {
  std::string_view name;
  std::string_view summary;
  /// From the text of the trace; `place` is the file's name.
  Result<Workload> (*read)(std::string_view text, const std::string& place, const TraceOptions& options);
};

std::span<const TraceFormat> trace_formats();

/// FORMAT:FILE, the file gzip or not.
[[nodiscard]] Result<Workload> read_trace(std::string_view spec, const TraceOptions& options);

}  // namespace cleave
