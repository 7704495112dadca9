// ECC, remapped rows and memory errors. As with drivers, rows are not told where MIG instances are,
// and errors since the last reset are counted for a whole GPU only while MIG is off, for an
// instance only uncorrected ones in its own caches and shared memories.

#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/fault_kinds.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

/// Whether NVML knows such a count.
bool known(std::uint32_t error_type, std::uint32_t counter_type) {
  return error_type <= memory_error_uncorrected && counter_type <= ecc_aggregate;
}

std::uint64_t errors_of(const GpuCell& cell, std::uint32_t error_type, std::uint32_t counter_type) {
  const auto& corrected = counter_type == ecc_volatile ? cell.corrected : cell.corrected_ever;
  const auto& uncorrected = counter_type == ecc_volatile ? cell.errors : cell.errors_ever;
  return (error_type == memory_error_corrected ? corrected : uncorrected)
      .load(std::memory_order_relaxed);
}

/// Whether the driver tells of errors on the whole GPU.
Return told(const GpuAccess& access, std::uint32_t counter_type) {
  const bool hidden = counter_type == ecc_volatile && access.record().mig_enabled != 0;
  return hidden || is_set(access.cell(), Fault::silent) ? not_supported : success;
}

Return rows_told(const GpuAccess& access) {
  return is_set(access.cell(), Fault::silent) || has_gpu_instances(access.record()) ? not_supported
                                                                                    : success;
}

/// Of Hopper 512 for each stack of memory, which is 1,024 bits wide: 2,560 on an H100 80GB HBM3 and
/// 3,072 on an H200, as measured with driver 580.159.04, MIG off. Of others: invented.
std::uint32_t banks_of(const Board& board) {
  const std::uint32_t stacks = (board.row.memory_bits + 1023) / 1024;
  return board.model->architecture == Architecture::hopper ? 512 * stacks : 640;
}

}  // namespace

Return nvmlDeviceGetEccMode(Device device, std::uint32_t* current, std::uint32_t* pending) {
  return on_whole_gpu(device, current != nullptr && pending != nullptr,
                      [&](GpuAccess&, std::uint32_t) {
                        *current = *pending = 1;
                        return success;
                      });
}
Return nvmlDeviceGetDefaultEccMode(Device device, std::uint32_t* mode) {
  return on_whole_gpu(device, mode != nullptr,
                      [&](GpuAccess&, std::uint32_t) { return put(mode, 1); });
}

Return nvmlDeviceGetRemappedRows(Device device, std::uint32_t* corrected,
                                 std::uint32_t* uncorrected, std::uint32_t* pending,
                                 std::uint32_t* failed) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    if (corrected == nullptr || uncorrected == nullptr || pending == nullptr || failed == nullptr)
      return invalid_argument;
    if (const Return no = rows_told(access); no != success) return no;
    *corrected = *uncorrected = 0;
    *pending = is_set(access.cell(), Fault::rows_pending) ? 1 : 0;
    *failed = is_set(access.cell(), Fault::rows_failed) ? 1 : 0;
    return success;
  });
}
/// A remapping fails where a bank has no spare row left.
Return nvmlDeviceGetRowRemapperHistogram(Device device, RowRemapperHistogram* histogram) {
  return on_whole_gpu(device, histogram != nullptr, [&](GpuAccess& access, std::uint32_t) {
    if (const Return no = rows_told(access); no != success) return no;
    const std::uint32_t none = is_set(access.cell(), Fault::rows_failed) ? 1 : 0;
    *histogram = {banks_of(access.board()) - none, 0, 0, 0, none};
    return success;
  });
}

Return nvmlDeviceGetTotalEccErrors(Device device, std::uint32_t error_type,
                                   std::uint32_t counter_type, std::uint64_t* count) {
  return on_whole_gpu(device, known(error_type, counter_type) && count != nullptr,
                      [&](GpuAccess& access, std::uint32_t) {
                        const Return answer = told(access, counter_type);
                        if (answer == success)
                          *count = errors_of(access.cell(), error_type, counter_type);
                        return answer;
                      });
}

/// A whole GPU's errors are all in its memory.
Return nvmlDeviceGetDetailedEccErrors(Device device, std::uint32_t error_type,
                                      std::uint32_t counter_type, EccCounts* counts) {
  return on_whole_gpu(device, known(error_type, counter_type) && counts != nullptr,
                      [&](GpuAccess& access, std::uint32_t) {
                        const Return answer = told(access, counter_type);
                        if (answer == success)
                          *counts = {0, 0, errors_of(access.cell(), error_type, counter_type), 0};
                        return answer;
                      });
}

Return nvmlDeviceGetMemoryErrorCounter(Device device, std::uint32_t error_type,
                                       std::uint32_t counter_type, std::uint32_t location,
                                       std::uint64_t* count) {
  return on_device(
      device, [&](const Call&, GpuAccess& access, std::uint32_t, std::optional<std::size_t> slot) {
        if (!known(error_type, counter_type) || location >= memory_locations || count == nullptr)
          return invalid_argument;
        const GpuCell& cell = access.cell();
        if (!slot) {
          const bool here = location == memory_location_dram;
          // The others are not told apart: measured on an H100 80GB HBM3, driver 580.159.04.
          if (!here && location != memory_location_sram) return not_supported;
          const Return answer = told(access, counter_type);
          if (answer == success) *count = here ? errors_of(cell, error_type, counter_type) : 0;
          return answer;
        }
        if (is_set(cell, Fault::silent) || error_type != memory_error_uncorrected ||
            counter_type != ecc_volatile || location != memory_location_sram)
          return not_supported;
        const std::uint64_t serial = access.record().compute_instances[*slot].serial;
        const bool there = cell.errors_on.load(std::memory_order_relaxed) == serial;
        return put(count, there ? cell.errors_there.load(std::memory_order_relaxed) : 0);
      });
}

Return nvmlDeviceClearEccErrorCounts(Device device, std::uint32_t counter_type) {
  return on_device(device, [&](const Call& call, GpuAccess& access, std::uint32_t,
                               std::optional<std::size_t> slot) {
    if (counter_type > ecc_aggregate) return invalid_argument;
    if (slot) return not_supported;
    if (!call.node().privileged()) return no_permission;
    GpuCell& cell = access.cell();
    if (counter_type == ecc_aggregate)
      cell.corrected_ever = cell.errors_ever = 0;
    else
      cell.corrected = cell.errors = cell.errors_on = cell.errors_there = 0;
    return success;
  });
}

}  // namespace cleave::nvml
