#pragma once
// Samples of GPU performance monitoring (GPM): what a program has allocated with
// nvmlGpmSampleAlloc. A sample keeps for how long a GPU, or a GPU instance, had been busy when it
// was taken; metrics are means over the time between two of them. Samples belong to the program.

#include <cstdint>
#include <optional>

#include "model/nvml_abi.hpp"

namespace cleave::sim {

/// What was read into a sample, of a whole GPU (instance 0) or of the GPU instance with this
/// serial.
struct GpmReading {
  std::uint32_t gpu = 0;
  std::uint64_t instance = 0;
  std::int64_t at_ns = 0;  // by the clock that counts from boot
  double busy_s = 0;
};

/// The number of a new sample; 0 if there are too many.
std::uint64_t make_gpm_sample();
/// False if there is no such sample, as the following three.
bool has_gpm_sample(std::uint64_t sample);
bool free_gpm_sample(std::uint64_t sample);
bool fill_gpm_sample(std::uint64_t sample, const GpmReading& reading);
/// Empty too if nothing was read into it.
std::optional<GpmReading> gpm_reading(std::uint64_t sample);

/// Whether metrics can be had between the two: of the same GPU or instance, the second more than
/// 100 ms after the first.
bool gpm_comparable(const GpmReading& first, const GpmReading& second);
/// Sets the value and the answer of a metric. Those that a simulated GPU does not have are
/// not_supported, one for itself.
void set_gpm_metric(const GpmReading& first, const GpmReading& second, nvml::GpmMetric& metric);

}  // namespace cleave::sim
