// nvmlDeviceGetFieldValues: the fields of a table; every other one is not supported.

#include <time.h>

#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/fault_kinds.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

constexpr std::uint32_t type_u32 = 1, type_u64 = 3, scope_gpu = 0;

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
    {1, nvmlDeviceGetDefaultEccMode},                 // ECC now
    {2, nvmlDeviceGetDefaultEccMode},                 // after a reset
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

constexpr std::uint32_t total_energy = 83;

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
  if (field.field == total_energy) {
    field.value_type = type_u64;
    field.answer = nvmlDeviceGetTotalEnergyConsumption(device, &field.value);
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
