// GPU performance monitoring (GPM): on Hopper and newer, the share of their time in which a GPU and
// its GPU instances are busy, and metrics that follow from it.

#include "nvmlsim/energy.hpp"
#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/gpm_samples.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

bool counts(const GpuAccess& access) {
  switch (access.board().model->architecture) {
    case Architecture::hopper:
    case Architecture::blackwell:
    case Architecture::rubin:
      return true;
    case Architecture::ampere:
    case Architecture::ada:
    case Architecture::other:
      break;
  }
  return false;
}

bool is_sample(GpmSample sample) {
  const HandleParts parts = parts_of(sample);
  return parts.kind == HandleKind::gpm_sample && has_gpm_sample(parts.serial);
}

/// Reads the GPU, or the GPU instance in this slot, into the sample.
Return read_into(GpmSample sample, const GpuAccess& access, std::uint32_t gpu,
                 std::optional<std::size_t> slot) {
  const HandleParts parts = parts_of(sample);
  if (!is_sample(sample)) return invalid_argument;
  if (!counts(access)) return not_supported;
  const std::int64_t now = now_ns();
  const GpmReading reading{gpu, slot ? access.record().gpu_instances[*slot].serial : 0, now,
                           busy_seconds(access.board(), access.record(), slot, now)};
  return fill_gpm_sample(parts.serial, reading) ? success : invalid_argument;
}

std::optional<GpmReading> reading_of(GpmSample sample) {
  const HandleParts parts = parts_of(sample);
  return parts.kind == HandleKind::gpm_sample ? gpm_reading(parts.serial) : std::nullopt;
}

}  // namespace

Return nvmlGpmQueryDeviceSupport(Device device, GpmSupport* support) {
  return on_device(device,
                   [&](const Call&, GpuAccess& access, std::uint32_t, std::optional<std::size_t>) {
                     if (support == nullptr) return invalid_argument;
                     if (support->version != gpm_version) return argument_version_mismatch;
                     support->is_supported_device = counts(access) ? 1 : 0;
                     return success;
                   });
}

Return nvmlGpmSampleAlloc(GpmSample* sample) {
  const Call call;
  if (call.status() != success) return call.status();
  if (sample == nullptr) return invalid_argument;
  const std::uint64_t number = make_gpm_sample();
  if (number == 0) return memory;
  *sample = make_handle<GpmSample>(HandleKind::gpm_sample, 0, number);
  return success;
}

Return nvmlGpmSampleFree(GpmSample sample) {
  const Call call;
  if (call.status() == uninitialized) return uninitialized;
  const HandleParts parts = parts_of(sample);
  return parts.kind == HandleKind::gpm_sample && free_gpm_sample(parts.serial) ? success
                                                                               : invalid_argument;
}

/// Of a MIG device: its GPU instance.
Return nvmlGpmSampleGet(Device device, GpmSample sample) {
  return on_device(
      device,
      [&](const Call&, GpuAccess& access, std::uint32_t gpu, std::optional<std::size_t> compute) {
        std::optional<std::size_t> slot;
        if (compute) slot = access.record().compute_instances[*compute].gpu_instance;
        return read_into(sample, access, gpu, slot);
      },
      Dead::are_taken_out);
}

Return nvmlGpmMigSampleGet(Device device, std::uint32_t instance_id, GpmSample sample) {
  return on_device(
      device,
      [&](const Call& call, GpuAccess& access, std::uint32_t gpu,
          std::optional<std::size_t> compute) {
        if (compute || !is_sample(sample)) return invalid_argument;
        if (!counts(access) || access.record().mig_enabled == 0) return not_supported;
        const auto& instances = access.record().gpu_instances;
        for (std::size_t slot = 0; slot < instance_slots; ++slot)
          if (instances[slot].serial != 0 &&
              gpu_instance_id(access.board(), instances[slot].placement, call.node().numbering()) ==
                  instance_id)
            return read_into(sample, access, gpu, slot);
        return not_found;
      },
      Dead::are_taken_out);
}

/// What drivers do with samples that are too close is not documented; here they are refused.
Return nvmlGpmMetricsGet(void* metrics) {
  const Call call;
  if (call.status() != success) return call.status();
  if (metrics == nullptr) return invalid_argument;
  auto* const asked = static_cast<GpmMetricsGet*>(metrics);
  if (asked->version != gpm_version) return argument_version_mismatch;
  if (asked->metrics_count > gpm_metrics_most) return invalid_argument;
  const auto first = reading_of(asked->sample1), second = reading_of(asked->sample2);
  if (!first || !second || !gpm_comparable(*first, *second)) return invalid_argument;
  for (std::uint32_t i = 0; i < asked->metrics_count; ++i)
    set_gpm_metric(*first, *second, asked->metrics[i]);
  return success;
}

}  // namespace cleave::nvml
