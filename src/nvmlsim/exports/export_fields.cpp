// nvmlDeviceGetFieldValues, for power, energy and the recovery action; every other field is not
// supported.

#include <time.h>

#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/fault_kinds.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

constexpr std::uint32_t type_u32 = 1, type_u64 = 3;
constexpr std::uint32_t total_energy = 83;

using MilliwattsCall = Return (*)(Device, std::uint32_t*);
struct FieldRow {
  std::uint32_t field;
  MilliwattsCall ask;
};
constexpr FieldRow power_fields[] = {
    {185, nvmlDeviceGetPowerUsage},                   // average of a second
    {186, nvmlDeviceGetPowerUsage},                   // now
    {188, nvmlDeviceGetEnforcedPowerLimit},           // highest limit
    {189, nvmlDeviceGetPowerManagementDefaultLimit},  //
    {190, nvmlDeviceGetEnforcedPowerLimit},           // current limit
    {192, nvmlDeviceGetPowerManagementLimit},         // requested limit
};

Return recovery_action(Device device, std::uint32_t& action) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    if (is_set(access.cell(), Fault::silent)) return not_supported;
    action = access.cell().recovery_action.load(std::memory_order_relaxed);
    return success;
  });
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
  if (field.field == field_recovery_action) {
    std::uint32_t action = 0;
    field.value_type = type_u32;
    field.answer = recovery_action(device, action);
    field.value = action;
    return;
  }
  const auto* row = std::ranges::find(power_fields, field.field, &FieldRow::field);
  field.value_type = type_u32;
  std::uint32_t milliwatts = 0;
  field.answer = row == std::end(power_fields) ? not_supported : row->ask(device, &milliwatts);
  field.value = milliwatts;
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
