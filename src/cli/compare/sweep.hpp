#pragma once
// `cleave compare --sweep`: the same comparison for several values of one option.

#include <string>
#include <string_view>
#include <vector>

#include "cli/workload_arguments.hpp"

namespace cleave::cli {

/// An option and its values, from left to right; no values: there is one comparison.
struct Sweep {
  std::string option;
  std::vector<std::string> values;
};

/// OPTION=VALUE,VALUE,...; the options are compress and gpus.
[[nodiscard]] Result<Sweep> parse_sweep(std::string_view text);

/// The arguments with this value of the option. Arrivals that are not of a trace have to be
/// compressed later, see `compress_arrivals`.
[[nodiscard]] Result<RunArguments> with_value(const Sweep& sweep, const std::string& value,
                                              RunArguments arguments);

/// Arrivals come `factor` times faster; run times stay.
[[nodiscard]] Result<void> compress_arrivals(Workload& workload, double factor);

/// The fleet in short with this many GPUs: "8x8xA100-80GB" with 16 is "2x8xA100-80GB".
[[nodiscard]] Result<std::string> with_gpus(const std::string& fleet, std::int64_t gpus);

}  // namespace cleave::cli
