#include "nvmlsim/client/client_signs.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "nvmlsim/gpu_rules.hpp"
#include "nvmlsim/monitors_abi.hpp"

namespace cleave::sim {

namespace {

constexpr std::string_view xid_prefix = "xid-", action_prefix = "recovery-action-",
                           errors_name = "memory-errors", corrected_name = "corrected-errors";
constexpr std::int64_t highest_number = 9999;
constexpr std::uint64_t xid_recovery_action_changed = 154;

std::optional<std::uint32_t> number_after(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return {};
  const auto number = parse_integer(text.substr(prefix.size()));
  if (!number || *number < 0 || *number > highest_number) return {};
  return static_cast<std::uint32_t>(*number);
}

/// A GPU instance and the compute instance in it, if there is one.
struct Target {
  std::uint32_t gpu_instance = nvml::no_instance, compute_instance = nvml::no_instance;
  std::uint64_t compute_serial = 0;
};

std::optional<Target> find_target(const Node& node, const GpuAccess& access, std::uint32_t number) {
  const GpuRecord& record = access.record();
  for (std::size_t slot = 0; slot < instance_slots; ++slot) {
    const GpuInstanceRecord& instance = record.gpu_instances[slot];
    if (instance.serial == 0 ||
        gpu_instance_id(access.board(), instance.placement, node.numbering()) != number)
      continue;
    Target target{.gpu_instance = number};
    for (const ComputeInstanceRecord& compute : record.compute_instances)
      if (compute.serial != 0 && compute.gpu_instance == slot && target.compute_serial == 0) {
        target.compute_instance = compute.id;
        target.compute_serial = compute.serial;
      }
    return target;
  }
  return {};
}

void count_error(GpuCell& cell, const Target& target, bool corrected) {
  if (corrected) {
    ++cell.corrected;
    ++cell.corrected_ever;
    return;
  }
  ++cell.errors_ever;
  if (target.gpu_instance == nvml::no_instance) {
    ++cell.errors;
  } else if (cell.errors_on.exchange(target.compute_serial) == target.compute_serial) {
    ++cell.errors_there;
  } else {
    cell.errors_there = 1;
  }
}

}  // namespace

std::optional<GivenSign> parse_sign(std::string_view text) {
  if (const auto number = number_after(xid_prefix, text))
    return GivenSign{HealthSign::xid, *number};
  if (const auto number = number_after(action_prefix, text))
    return GivenSign{HealthSign::recovery_action, *number};
  if (text == errors_name) return GivenSign{HealthSign::memory_errors, 0};
  if (text == corrected_name) return GivenSign{HealthSign::memory_errors, 0, true};
  return {};
}

std::vector<SimFaultRow> sign_rows() {
  return {{"xid-13", "the driver reports an Xid, here 13; any number can be given"},
          {"recovery-action-1",
           "the driver asks for this recovery action, here a reset, and reports an Xid 154"},
          {errors_name, "the driver counts an uncorrected memory error, and reports it"},
          {corrected_name, "the driver counts a memory error that ECC corrected, and reports it"}};
}

Result<void> give_sign(Node& node, std::uint32_t gpu, const GivenSign& sign,
                       std::optional<std::uint32_t> instance, const std::string& place) {
  Target target;
  {
    const GpuAccess access(node, gpu);
    if (instance && access.status() == nvml::Return::success) {
      const auto found = find_target(node, access, *instance);
      if (!found)
        return fail(ErrorKind::bad_usage, place,
                    fmt::format("there is no GPU instance {}", *instance));
      target = *found;
    }
    if (instance && sign.sign == HealthSign::recovery_action)
      return fail(ErrorKind::bad_usage, place,
                  "a recovery action is of the GPU, not of an instance");
    if (sign.sign == HealthSign::recovery_action) access.cell().recovery_action = sign.number;
    if (sign.sign == HealthSign::memory_errors) count_error(access.cell(), target, sign.corrected);
  }
  if (sign.sign == HealthSign::xid)
    node.report_event(gpu,
                      {nvml::event_xid, sign.number, target.gpu_instance, target.compute_instance});
  if (sign.sign == HealthSign::memory_errors)
    node.report_event(
        gpu, {sign.corrected ? nvml::event_corrected_error : nvml::event_uncorrected_error, 0,
              target.gpu_instance, target.compute_instance});
  if (sign.sign == HealthSign::recovery_action)
    node.report_event(gpu, {nvml::event_xid, xid_recovery_action_changed});
  return {};
}

void end_signs(GpuCell& cell) {
  cell.recovery_action = 0;
  cell.corrected = cell.errors = cell.errors_on = cell.errors_there = 0;
}

}  // namespace cleave::sim
