#include "nvmlsim/operations.hpp"

#include <algorithm>
#include <thread>

#include "nvmlsim/fault_kinds.hpp"
#include "nvmlsim/gpu_rules.hpp"
#include "nvmlsim/monitors_abi.hpp"
#include "nvmlsim/uuid.hpp"
#include "physics/reconfiguration.hpp"

namespace cleave::sim {

using enum nvml::Return;
using nvml::Return;

namespace {

/// Whether this GPU can be changed now, and its MIG mode is on.
Return ready(const GpuAccess& gpu) {
  if (gpu.status() != success) return gpu.status();
  return gpu.record().mig_enabled != 0 ? success : not_supported;
}

constexpr int slow_factor = 10;

/// The duration of the call for `placement` by `law`; zero on an instant node.
Duration time_of_call(Node& node, std::uint32_t gpu, CommandTime::Law law, const Geometry& geometry,
                      PlacementId placement) {
  if (node.instant()) return Duration::zero();
  return node.command(gpu).of(law, geometry, placement, std::chrono::steady_clock::now());
}

/// Waits that long, holding only the GPU's `change` lock.
void let_pass(Node& node, std::uint32_t gpu, Duration time) {
  if (node.instant()) return;
  std::this_thread::sleep_for(time);
  node.command(gpu).over(std::chrono::steady_clock::now());
}

template <class Records>
std::optional<std::size_t> free_slot(const Records& records) {
  const auto found = std::ranges::find(records, 0U, [](const auto& each) { return each.serial; });
  if (found == records.end()) return std::nullopt;
  return static_cast<std::size_t>(found - records.begin());
}

/// Checks everything that forbids the new instance, and chooses its placement.
Return plan_gpu_instance(GpuAccess& gpu, std::uint32_t profile_id,
                         const nvml::GpuInstancePlacement* wanted, PlacementId& placement) {
  if (const Return state = ready(gpu); state != success) return state;
  const auto profile = profile_by_id(gpu.board(), profile_id);
  if (!profile) return known_profile_id(profile_id) ? not_supported : invalid_argument;
  const Return place = choose_placement(gpu.board(), gpu.record(), *profile, wanted, placement);
  if (place != success) return place;
  if (!free_slot(gpu.record().gpu_instances)) return insufficient_resources;
  return strikes(gpu.cell(), Fault::fail_create) ? unknown : success;
}

/// Instances or the MIG mode have changed. There is room for few events, so that they are reported
/// only once a program has asked for this kind.
void report_change(Node& node, std::uint32_t gpu) {
  if ((node.header().wanted_events.load(std::memory_order_relaxed) & nvml::event_mig_config) != 0)
    node.report_event(gpu, {nvml::event_mig_config});
}

bool has_processes(const GpuRecord& record, std::uint64_t compute) {
  return std::any_of(record.processes.begin(), record.processes.begin() + record.process_count,
                     [&](const ProcessRecord& each) { return each.compute == compute; });
}

/// Removes dead processes before a call is refused because of them.
void reap_on(Node& node, std::uint32_t gpu, std::uint64_t compute) {
  const bool worth_it = [&] {
    const GpuAccess now(node, gpu);
    return now.status() == success && has_processes(now.record(), compute);
  }();
  if (worth_it) reap(node, gpu, true);
}

ComputeInstanceRecord new_compute(Node& node, const GpuRecord& record, std::size_t parent,
                                  const ComputeProfile& profile, std::uint32_t start) {
  ComputeInstanceRecord compute{};
  compute.serial = node.next_serial();
  compute.uuid = make_uuid(node.header().seed, compute.serial);
  compute.gpu_instance = static_cast<std::uint8_t>(parent);
  compute.id = free_compute_id(record, parent);
  compute.profile = static_cast<std::uint8_t>(profile.number);
  compute.start = static_cast<std::uint8_t>(start);
  compute.slices = static_cast<std::uint8_t>(profile.slices);
  return compute;
}

}  // namespace

Return create_gpu_instance(Node& node, std::uint32_t gpu, std::uint32_t profile_id,
                           const nvml::GpuInstancePlacement* wanted, std::uint64_t& serial) {
  if (!node.privileged()) return no_permission;
  const Holding change(node.cell(gpu).change, node.presence());
  PlacementId placement{};
  Duration time{};
  {
    GpuAccess now(node, gpu);
    if (const Return plan = plan_gpu_instance(now, profile_id, wanted, placement); plan != success)
      return plan;
    time = time_of_call(node, gpu, create_time, now.board().geometry, placement);
    if (!node.instant() && strikes(now.cell(), Fault::slow_create)) time *= slow_factor;
  }
  let_pass(node, gpu, time);
  GpuAccess now(node, gpu);
  if (now.status() != success) return now.status();
  const auto slot = free_slot(now.record().gpu_instances);
  if (!slot) return insufficient_resources;
  serial = node.next_serial();
  now.draft().gpu_instances[*slot] = {serial, 0, placement, {}};
  now.commit();
  report_change(node, gpu);
  return success;
}

Return destroy_gpu_instance(Node& node, std::uint32_t gpu, std::uint64_t serial) {
  if (!node.privileged()) return no_permission;
  const Holding change(node.cell(gpu).change, node.presence());
  Duration time{};
  {
    GpuAccess now(node, gpu);
    if (now.status() != success) return now.status();
    const auto slot = find_gpu_instance(now.record(), serial);
    if (!slot) return invalid_argument;
    if (has_compute_instances(now.record(), *slot)) return nvml::Return::in_use;
    if (strikes(now.cell(), Fault::stuck_in_use)) return nvml::Return::in_use;
    if (strikes(now.cell(), Fault::fail_destroy)) return unknown;
    time = time_of_call(node, gpu, destroy_time, now.board().geometry,
                        now.record().gpu_instances[*slot].placement);
  }
  let_pass(node, gpu, time);
  GpuAccess now(node, gpu);
  if (now.status() != success) return now.status();
  const auto slot = find_gpu_instance(now.record(), serial);
  if (!slot) return invalid_argument;
  now.draft().gpu_instances[*slot] = {};
  now.commit();
  report_change(node, gpu);
  return success;
}

Return create_compute_instance(Node& node, std::uint32_t gpu, std::uint64_t parent,
                               std::uint32_t profile_id,
                               const nvml::ComputeInstancePlacement* wanted,
                               std::uint64_t& serial) {
  if (!node.privileged()) return no_permission;
  const Holding change(node.cell(gpu).change, node.presence());
  GpuAccess now(node, gpu);
  if (const Return state = ready(now); state != success) return state;
  const auto slot = find_gpu_instance(now.record(), parent);
  if (!slot || profile_id >= nvml::compute_instance_profiles) return invalid_argument;
  const ComputeProfile* profile = compute_profile(now.board(), now.record(), *slot, profile_id);
  if (profile == nullptr) return not_supported;
  std::uint32_t start = 0;
  const Return place =
      choose_compute_start(now.board(), now.record(), *slot, *profile, wanted, start);
  if (place != success) return place;
  const auto free = free_slot(now.record().compute_instances);
  if (!free) return insufficient_resources;
  if (strikes(now.cell(), Fault::fail_compute)) return unknown;
  node.forget_holders(gpu, *free);
  GpuRecord& next = now.draft();
  next.compute_instances[*free] = new_compute(node, next, *slot, *profile, start);
  serial = next.compute_instances[*free].serial;
  now.commit();
  report_change(node, gpu);
  return success;
}

Return destroy_compute_instance(Node& node, std::uint32_t gpu, std::uint64_t serial) {
  if (!node.privileged()) return no_permission;
  const Holding change(node.cell(gpu).change, node.presence());
  reap_on(node, gpu, serial);
  GpuAccess now(node, gpu);
  if (now.status() != success) return now.status();
  const auto slot = find_compute_instance(now.record(), serial);
  if (!slot) return invalid_argument;
  if (has_processes(now.record(), serial) || node.held_by_others(gpu, *slot))
    return nvml::Return::in_use;
  if (strikes(now.cell(), Fault::stuck_in_use)) return nvml::Return::in_use;
  if (strikes(now.cell(), Fault::fail_destroy)) return unknown;
  now.draft().compute_instances[*slot] = {};
  now.commit();
  report_change(node, gpu);
  return success;
}

Return set_mig_mode(Node& node, std::uint32_t gpu, std::uint32_t mode, Return& activation) {
  if (mode != nvml::mig_disabled && mode != nvml::mig_enabled) return invalid_argument;
  if (!node.privileged()) return no_permission;
  const Holding change(node.cell(gpu).change, node.presence());
  reap(node, gpu, true);
  GpuAccess now(node, gpu);
  if (now.status() != success) return now.status();
  const bool same = now.record().mig_enabled == mode;
  const bool busy = has_gpu_instances(now.record()) || now.record().process_count > 0;
  activation = same                                      ? success
               : busy                                    ? nvml::Return::in_use
               : strikes(now.cell(), Fault::mig_pending) ? reset_required
                                                         : success;
  GpuRecord& next = now.draft();
  next.mig_wanted = mode;
  if (activation == success) next.mig_enabled = mode;
  now.commit();
  if (activation == success && !same) report_change(node, gpu);
  return success;
}

}  // namespace cleave::sim
