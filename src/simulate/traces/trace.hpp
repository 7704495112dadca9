#pragma once
// Public traces, and logs that sites have, read as they are published and turned into workloads.
// Which records are left out, and under which rule a recorded demand became a request, stays with
// the workload and is printed with every result.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ratio.hpp"
#include "base/result.hpp"
#include "model/job.hpp"

namespace cleave {

/// What share of a GPU a job asks for whose trace records none: the whole GPU, or one drawn in the
/// proportions of the Alibaba 2023 pods that share a GPU.
enum class Shares { whole, alibaba };

struct TraceOptions {
  ShareRule rule = ShareRule::round_up;
  Ratio compress{1, 1};                 // arrivals come this many times faster; run times stay
  std::optional<std::size_t> limit;     // only the first so many records by arrival
  Shares shares = Shares::whole;        // philly
  Ratio gap{60, 1};                     // miso: mean time between two arrivals, seconds; above zero
  std::int64_t processors_per_gpu = 1;  // swf; at least 1
  std::uint64_t seed = 1;               // of what a reader draws
};

struct TraceFormat {
  std::string_view name;
  std::string_view summary;
  /// From the text of the trace; `place` is the file's name.
  Result<Workload> (*read)(std::string_view text, const std::string& place,
                           const TraceOptions& options);
  /// The options it has beside compress and limit, by their names on the command line, separated by
  /// spaces.
  std::string_view options;

  [[nodiscard]] bool has_option(std::string_view option) const;
};

std::span<const TraceFormat> trace_formats();

/// The format that FORMAT:FILE names.
[[nodiscard]] Result<const TraceFormat*> trace_format(std::string_view spec);

/// FORMAT:FILE, the file gzip or not.
[[nodiscard]] Result<Workload> read_trace(std::string_view spec, const TraceOptions& options);

}  // namespace cleave
