#include "nvmlsim/gpm_samples.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>

#include "nvmlsim/forks.hpp"

namespace cleave::sim {

namespace {

constexpr std::size_t most_samples = 4096;
/// NVML's documentation asks for more; the hardware's counters are not renewed sooner.
constexpr std::int64_t shortest_ns = 100'000'000;

/// Guarded by samples_mutex.
struct GpmSamples {
  std::uint64_t last = 0;
  std::map<std::uint64_t, std::optional<GpmReading>> samples;
};
GpmSamples& all_samples() {
  static auto* const samples = new GpmSamples;  // never destroyed, as the event sets
  return *samples;
}

/// A metric as a part of the share of its processors that a GPU keeps busy.
struct MetricRow {
  std::uint32_t id;
  double part;
};
// Which metrics there are: NVIDIA's NVML API reference. All parts below 1 are invented; that of the
// memory is the one of nvmlDeviceGetUtilizationRates.
constexpr auto metrics = std::to_array<MetricRow>({
    {nvml::gpm_graphics, 1},
    {nvml::gpm_sm_activity, 1},
    {nvml::gpm_sm_occupancy, 0.5},
    {nvml::gpm_tensor, 0.25},
    {nvml::gpm_dram_bandwidth, 0.5},
});

/// Metrics that the hardware counts and simulated jobs never raise: 0 on idle GPUs, as here always.
/// Which they are was measured on an H100 80GB HBM3, driver 580.159.04, MIG off.
struct MetricRange {
  std::uint32_t first, last;
};
constexpr MetricRange counted[] = {{1, 13}, {20, 21}, {30, 46}, {60, 97}, {100, 147}};

bool is_counted(std::uint32_t metric) {
  return std::ranges::any_of(
      counted, [&](MetricRange range) { return metric >= range.first && metric <= range.last; });
}

}  // namespace

std::uint64_t make_gpm_sample() {
  const std::lock_guard guard(samples_mutex);
  GpmSamples& all = all_samples();
  if (all.samples.size() >= most_samples) return 0;
  all.samples.emplace(++all.last, std::nullopt);
  return all.last;
}

bool has_gpm_sample(std::uint64_t sample) {
  const std::lock_guard guard(samples_mutex);
  return all_samples().samples.contains(sample);
}

bool free_gpm_sample(std::uint64_t sample) {
  const std::lock_guard guard(samples_mutex);
  return all_samples().samples.erase(sample) > 0;
}

bool fill_gpm_sample(std::uint64_t sample, const GpmReading& reading) {
  const std::lock_guard guard(samples_mutex);
  GpmSamples& all = all_samples();
  const auto found = all.samples.find(sample);
  if (found == all.samples.end()) return false;
  found->second = reading;
  return true;
}

std::optional<GpmReading> gpm_reading(std::uint64_t sample) {
  const std::lock_guard guard(samples_mutex);
  const GpmSamples& all = all_samples();
  const auto found = all.samples.find(sample);
  return found == all.samples.end() ? std::nullopt : found->second;
}

bool gpm_comparable(const GpmReading& first, const GpmReading& second) {
  return first.gpu == second.gpu && first.instance == second.instance &&
         second.at_ns > first.at_ns && second.at_ns - first.at_ns > shortest_ns;
}

void set_gpm_metric(const GpmReading& first, const GpmReading& second, nvml::GpmMetric& metric) {
  metric.short_name = metric.long_name = metric.unit = nullptr;
  metric.value = 0;
  const auto* const row = std::ranges::find(metrics, metric.metric_id, &MetricRow::id);
  metric.answer =
      is_counted(metric.metric_id) ? nvml::Return::success : nvml::Return::not_supported;
  if (row == metrics.end()) return;
  const double seconds = static_cast<double>(second.at_ns - first.at_ns) * 1e-9;
  const double share = (second.busy_s - first.busy_s) / seconds;
  metric.value = std::isfinite(share) ? 100 * row->part * std::clamp(share, 0.0, 1.0) : 0;
}

}  // namespace cleave::sim
