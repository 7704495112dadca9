// nvmlDeviceGetFieldValues: the fields of a table; every other one is not supported.

#include <time.h>

#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/fault_kinds.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

constexpr std::uint32_t type_u32 = 1, type_u64 = 3, type_i32 = 5, scope_gpu = 0;

/// How a field is asked for: with one of the functions that give such a number.
using Call32 = Return (*)(Device, std::uint32_t*);
struct FieldRow {
  std::uint32_t field;
  Call32 ask;
};

Return recovery_action(Device device, std::uint32_t* action) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    if (is_set(access.cell(), Fault::silent)) return not_supported;
    return put(action, access.cell().recovery_action.load(std::memory_order_relaxed));
  });
}

Return least_power_limit(Device device, std::uint32_t* milliwatts) {
  std::uint32_t most = 0;
  return nvmlDeviceGetPowerManagementLimitConstraints(device, milliwatts, &most);
}

/// Ampere needs a reset for it.
Return changes_mig_without_reset(Device device, std::uint32_t* does) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    return put(does, access.board().model->architecture == Architecture::ampere ? 0 : 1);
  });
}

Return answers_with_mig_off(Device device, std::uint32_t* does) {
  return on_gpu(device, [&](const Call&, GpuAccess&, std::uint32_t) { return put(does, 1); });
}

constexpr FieldRow fields[] = {
    {94, nvmlDeviceGetPcieReplayCounter},             //
    {184, changes_mig_without_reset},                 //
    {185, nvmlDeviceGetPowerUsage},                   // average of a second
    {186, nvmlDeviceGetPowerUsage},                   // now
    {187, least_power_limit},                         //
    {188, nvmlDeviceGetPowerManagementDefaultLimit},  // highest limit
    {189, nvmlDeviceGetPowerManagementDefaultLimit},  //
    {190, nvmlDeviceGetEnforcedPowerLimit},           // current limit
    {192, nvmlDeviceGetPowerManagementLimit},         // requested limit
    {199, answers_with_mig_off},                      //
    {field_recovery_action, recovery_action},
};

/// Memory errors of one kind.
template <std::uint32_t ErrorType, std::uint32_t CounterType>
Return errors(Device device, std::uint64_t* count) {
  return nvmlDeviceGetTotalEccErrors(device, ErrorType, CounterType, count);
}

/// One of the four numbers of nvmlDeviceGetRemappedRows.
template <std::size_t Which>
Return rows_of(Device device, std::uint64_t* count) {
  std::array<std::uint32_t, 4> rows{};
  const Return code = nvmlDeviceGetRemappedRows(device, &rows[0], &rows[1], &rows[2], &rows[3]);
  if (code == success) *count = rows[Which];
  return code;
}

Return ecc_mode(Device device, std::uint64_t* mode) {
  std::uint32_t is = 0;
  const Return code = nvmlDeviceGetDefaultEccMode(device, &is);
  if (code == success) *mode = is;
  return code;
}

/// The same of 64 bits; which are that was measured on an H100 80GB HBM3, driver 580.159.04.
using Call64 = Return (*)(Device, std::uint64_t*);
struct WideFieldRow {
  std::uint32_t field;
  Call64 ask;
};
constexpr WideFieldRow wide_fields[] = {
    {1, ecc_mode},  // now
    {2, ecc_mode},  // after a reset
    {3, errors<memory_error_corrected, ecc_volatile>},
    {4, errors<memory_error_uncorrected, ecc_volatile>},
    {5, errors<memory_error_corrected, ecc_aggregate>},
    {6, errors<memory_error_uncorrected, ecc_aggregate>},
    {83, nvmlDeviceGetTotalEnergyConsumption},
    {142, rows_of<0>},
    {143, rows_of<1>},
    {144, rows_of<2>},
    {145, rows_of<3>},
};

/// Degrees that are left where a GPU of Hopper's runs in full until it shuts down, slows down, and
/// its memory and it no longer run in full: measured likewise.
struct LimitRow {
  std::uint32_t field;
  std::int32_t celsius;
};
constexpr LimitRow limits_of_hopper[] = {{193, -8}, {194, -2}, {195, 0}, {196, 0}};

Return temperature_limit(Device device, const LimitRow& row, std::uint64_t* value) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    if (access.board().model->architecture != Architecture::hopper) return not_supported;
    return put(value, static_cast<std::uint32_t>(row.celsius));
  });
}

/// Whether the scope of the field says which part of the GPU is meant: power is that of the GPU
/// only. For other fields it is not read.
bool has_scope(std::uint32_t field) {
  return field >= 185 && field <= 192;
}

void answer_field(Device device, FieldValue& field) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  field.timestamp_us = static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
  field.latency_us = 0;
  field.value = 0;
  const auto* wide = std::ranges::find(wide_fields, field.field, &WideFieldRow::field);
  if (wide != std::end(wide_fields)) {
    field.value_type = type_u64;
    field.answer = wide->ask(device, &field.value);
    return;
  }
  const auto* limit = std::ranges::find(limits_of_hopper, field.field, &LimitRow::field);
  if (limit != std::end(limits_of_hopper)) {
    field.value_type = type_i32;
    field.answer = temperature_limit(device, *limit, &field.value);
    return;
  }
  const auto* row = std::ranges::find(fields, field.field, &FieldRow::field);
  field.value_type = type_u32;
  std::uint32_t value = 0;
  const bool none = row == std::end(fields) || (has_scope(field.field) && field.scope != scope_gpu);
  field.answer = none ? not_supported : row->ask(device, &value);
  field.value = value;
}

}  // namespace

Return nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  const Return there =
      on_device(device, [&](const Call&, GpuAccess&, std::uint32_t, std::optional<std::size_t>) {
        return values == nullptr || count < 0 ? invalid_argument : success;
      });
  if (there == success)
    for (int i = 0; i < count; ++i) answer_field(device, values[i]);
  return there;
}

}  // namespace cleave::nvml
