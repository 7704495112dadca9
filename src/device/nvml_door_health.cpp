// The part of NvmlDoor that asks about health. Whatever a driver or a GPU does not tell stays
// empty: functions are missing in older drivers, memory errors are counted with ECC only, and rows
// are not told where MIG instances are.

#include "device/nvml_call.hpp"
#include "device/nvml_door.hpp"

namespace cleave {

namespace {

using enum nvml::Return;

/// That the GPU is gone is no lack of an answer.
bool means_gone(const Refusal& refusal) {
  return refused_with(refusal, {gpu_is_lost, uninitialized, invalid_argument});
}

}  // namespace

DriverAnswer<GpuHealth> NvmlDoor::health(GpuIndex gpu) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  GpuHealth health;
  nvml::FieldValue action{};
  action.field = nvml::field_recovery_action;
  const auto fields = CLEAVE_NVML(nvmlDeviceGetFieldValues)(*handle, 1, &action);
  if (!fields && means_gone(fields.error())) return gave_up(gpu, fields.error());
  if (fields && action.answer == success)
    health.recovery_action = static_cast<std::uint32_t>(action.value);
  std::uint32_t corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  const auto rows =
      CLEAVE_NVML(nvmlDeviceGetRemappedRows)(*handle, &corrected, &uncorrected, &pending, &failed);
  if (!rows && means_gone(rows.error())) return gave_up(gpu, rows.error());
  if (rows) {
    health.rows_pending = pending != 0;
    health.rows_failed = failed != 0;
  }
  std::uint64_t errors = 0;
  if (CLEAVE_NVML(nvmlDeviceGetTotalEccErrors)(*handle, nvml::memory_error_uncorrected,
                                               nvml::ecc_volatile, &errors))
    health.uncorrected = errors;
  return health;
}

DriverAnswer<std::uint64_t> NvmlDoor::uncorrected_errors(GpuIndex gpu, GpuInstanceId instance,
                                                         ComputeInstanceId compute) {
  if (nvml_->nvmlDeviceGetMemoryErrorCounter == nullptr)
    return std::unexpected(Refusal{function_not_found, "nvmlDeviceGetMemoryErrorCounter"});
  const auto found = compute_handle(gpu, instance, compute);
  if (!found) return std::unexpected(found.error());
  nvml::ComputeInstanceInfo info{};
  if (const auto done = CLEAVE_NVML(nvmlComputeInstanceGetInfo_v2)(*found, &info); !done)
    return std::unexpected(done.error());
  std::uint64_t errors = 0;
  const auto done = CLEAVE_NVML(nvmlDeviceGetMemoryErrorCounter)(
      info.device, nvml::memory_error_uncorrected, nvml::ecc_volatile, nvml::memory_location_sram,
      &errors);
  if (!done) return std::unexpected(done.error());
  return errors;
}

}  // namespace cleave
