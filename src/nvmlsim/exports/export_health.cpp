// Remapped rows and memory errors. As with drivers, rows are not told where MIG instances are, and
// memory errors are counted for a whole GPU only while MIG is off, for an instance only in its own
// caches and shared memories.

#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/fault_kinds.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

/// The arguments that are simulated; all others are not supported.
Return refused(std::uint32_t error_type, std::uint32_t counter_type) {
  if (error_type > memory_error_uncorrected || counter_type > 1) return invalid_argument;
  return error_type == memory_error_uncorrected && counter_type == ecc_volatile ? success
                                                                                : not_supported;
}

}  // namespace

Return nvmlDeviceGetRemappedRows(Device device, std::uint32_t* corrected,
                                 std::uint32_t* uncorrected, std::uint32_t* pending,
                                 std::uint32_t* failed) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    if (corrected == nullptr || uncorrected == nullptr || pending == nullptr || failed == nullptr)
      return invalid_argument;
    if (is_set(access.cell(), Fault::silent) || has_gpu_instances(access.record()))
      return not_supported;
    *corrected = *uncorrected = 0;
    *pending = is_set(access.cell(), Fault::rows_pending) ? 1 : 0;
    *failed = is_set(access.cell(), Fault::rows_failed) ? 1 : 0;
    return success;
  });
}

Return nvmlDeviceGetTotalEccErrors(Device device, std::uint32_t error_type,
                                   std::uint32_t counter_type, std::uint64_t* count) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    if (const Return no = refused(error_type, counter_type); no != success) return no;
    if (is_set(access.cell(), Fault::silent) || access.record().mig_enabled != 0)
      return not_supported;
    return put(count, access.cell().errors.load(std::memory_order_relaxed));
  });
}

Return nvmlDeviceGetMemoryErrorCounter(Device device, std::uint32_t error_type,
                                       std::uint32_t counter_type, std::uint32_t location,
                                       std::uint64_t* count) {
  return on_device(
      device, [&](const Call&, GpuAccess& access, std::uint32_t, std::optional<std::size_t> slot) {
        if (const Return no = refused(error_type, counter_type); no != success) return no;
        GpuCell& cell = access.cell();
        if (is_set(cell, Fault::silent) || !slot || location != memory_location_sram)
          return not_supported;
        const std::uint64_t serial = access.record().compute_instances[*slot].serial;
        const bool there = cell.errors_on.load(std::memory_order_relaxed) == serial;
        return put(count, there ? cell.errors_there.load(std::memory_order_relaxed) : 0);
      });
}

}  // namespace cleave::nvml
