// The part of NvmlDoor that counts how busy GPUs and instances are, by GPU performance monitoring
// (GPM). A metric is the mean between two samples, so that one sample of each count is kept.

#include <array>
#include <memory>

#include "device/nvml_call.hpp"
#include "device/nvml_door.hpp"

namespace cleave {

namespace {

using enum nvml::Return;

struct MetricRow {
  std::uint32_t id;
  std::optional<double> BusyShares::*share;
};
constexpr auto metrics = std::to_array<MetricRow>({
    {nvml::gpm_sm_activity, &BusyShares::sm_activity},
    {nvml::gpm_sm_occupancy, &BusyShares::sm_occupancy},
    {nvml::gpm_tensor, &BusyShares::tensor_activity},
    {nvml::gpm_dram_bandwidth, &BusyShares::dram_activity},
});

/// Whether the driver will refuse again.
bool is_final(const Refusal& refusal) {
  return refused_with(refusal, {not_supported, function_not_found, no_permission});
}

/// A percentage that can be one, as a share.
std::optional<double> share_from(const nvml::GpmMetric& metric) {
  if (metric.answer != success || !(metric.value >= 0) || metric.value > 101) return std::nullopt;
  return std::min(metric.value / 100, 1.0);
}

}  // namespace

void NvmlDoor::stop_counting(GpuIndex gpu, std::optional<GpuInstanceId> instance) {
  const auto kept = samples_.find({gpu, instance});
  if (kept == samples_.end()) return;
  (void)CLEAVE_NVML(nvmlGpmSampleFree)(kept->second);
  samples_.erase(kept);
}

void NvmlDoor::stop_all_counting() {
  while (!samples_.empty())
    stop_counting(samples_.begin()->first.first, samples_.begin()->first.second);
  may_count_.clear();
}

void NvmlDoor::forget(GpuIndex gpu) {
  devices_.erase(gpu);
  may_count_.erase(gpu);
  std::erase_if(samples_, [&](const auto& kept) {
    if (kept.first.first != gpu) return false;
    (void)CLEAVE_NVML(nvmlGpmSampleFree)(kept.second);
    return true;
  });
}

DriverAnswer<void> NvmlDoor::may_count(GpuIndex gpu, nvml::Device device) {
  if (const auto known = may_count_.find(gpu); known != may_count_.end()) return known->second;
  nvml::GpmSupport support{nvml::gpm_version, 0};
  DriverAnswer<void> may = CLEAVE_NVML(nvmlGpmQueryDeviceSupport)(device, &support);
  if (may && support.is_supported_device == 0)
    may = std::unexpected(Refusal{not_supported, "nvmlGpmQueryDeviceSupport"});
  if (may || is_final(may.error())) may_count_.emplace(gpu, may);
  return may;
}

DriverAnswer<nvml::GpmSample> NvmlDoor::new_sample(nvml::Device device,
                                                   std::optional<GpuInstanceId> instance) {
  nvml::GpmSample sample = nullptr;
  if (const auto done = CLEAVE_NVML(nvmlGpmSampleAlloc)(&sample); !done)
    return std::unexpected(done.error());
  const auto taken = instance ? CLEAVE_NVML(nvmlGpmMigSampleGet)(
                                    device, static_cast<std::uint32_t>(*instance), sample)
                              : CLEAVE_NVML(nvmlGpmSampleGet)(device, sample);
  if (taken) return sample;
  (void)CLEAVE_NVML(nvmlGpmSampleFree)(sample);
  return std::unexpected(taken.error());
}

DriverAnswer<std::optional<BusyShares>> NvmlDoor::busy_shares(GpuIndex gpu,
                                                              std::optional<GpuInstanceId> instance,
                                                              Counting counting) {
  if (counting == Counting::anew) stop_counting(gpu, instance);
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  if (const auto may = may_count(gpu, *handle); !may) return gave_up(gpu, may.error());
  const auto sample = new_sample(*handle, instance);
  if (!sample) {
    if (is_final(sample.error())) may_count_.insert_or_assign(gpu, std::unexpected(sample.error()));
    return gave_up(gpu, sample.error());
  }
  const auto [kept, first] = samples_.try_emplace({gpu, instance}, *sample);
  if (first) return std::optional<BusyShares>{};
  const auto asked = std::make_unique<nvml::GpmMetricsGet>();
  asked->version = nvml::gpm_version;
  asked->sample1 = kept->second;
  asked->sample2 = *sample;
  for (const MetricRow& row : metrics) asked->metrics[asked->metrics_count++].metric_id = row.id;
  const auto done = CLEAVE_NVML(nvmlGpmMetricsGet)(asked.get());
  if (!done) {  // perhaps it was too soon: the count goes on
    (void)CLEAVE_NVML(nvmlGpmSampleFree)(*sample);
    return std::unexpected(done.error());
  }
  (void)CLEAVE_NVML(nvmlGpmSampleFree)(std::exchange(kept->second, *sample));
  BusyShares shares;
  for (std::size_t i = 0; i < metrics.size(); ++i)
    shares.*metrics[i].share = share_from(asked->metrics[i]);
  return std::optional(shares);
}

}  // namespace cleave
