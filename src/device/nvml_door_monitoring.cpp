// The part of NvmlDoor that monitors: processes, memory, power, events.

#include <limits>
#include <tuple>

#include "device/nvml_call.hpp"
#include "device/nvml_door.hpp"

namespace cleave {

namespace {

using enum nvml::Return;

/// More processes than any GPU has: a higher count is an error of the driver.
constexpr std::uint32_t mig_devices_most = 1024;

LiveProcess process_from(const nvml::ProcessInfo& info) {
  LiveProcess process;
  process.pid = info.pid;
  if (info.used_memory != nvml::no_value) process.memory_bytes = info.used_memory;
  if (info.gpu_instance_id != nvml::no_instance)
    process.gpu_instance = GpuInstanceId{info.gpu_instance_id};
  if (info.compute_instance_id != nvml::no_instance)
    process.compute_instance = ComputeInstanceId{info.compute_instance_id};
  return process;
}

auto place_of(const LiveProcess& process) {
  return std::tuple(process.pid, process.gpu_instance, process.compute_instance);
}

/// One row for each process and instance, by pid. The GPU, the instance and MPS all report the same
/// process; a row without the instance is dropped if another has it.
std::vector<LiveProcess> merged(std::vector<LiveProcess> processes) {
  std::ranges::stable_sort(processes, {}, place_of);
  std::vector<LiveProcess> rows;
  for (const LiveProcess& process : processes) {
    // Rows without an instance come first among those of a pid.
    if (!rows.empty() && rows.back().pid == process.pid && !rows.back().gpu_instance &&
        process.gpu_instance)
      rows.pop_back();
    if (rows.empty() || place_of(rows.back()) != place_of(process)) {
      rows.push_back(process);
    } else {
      rows.back().memory_bytes = std::max(rows.back().memory_bytes, process.memory_bytes);
    }
  }
  return rows;
}

GpuEvent::Kind kind_of(std::uint64_t type) {
  if ((type & nvml::event_xid) != 0) return GpuEvent::Kind::xid;
  if ((type & nvml::event_gpu_unavailable) != 0) return GpuEvent::Kind::unavailable;
  return GpuEvent::Kind::other;
}

}  // namespace

DriverAnswer<std::vector<LiveProcess>> NvmlDoor::processes_of(nvml::Device device) {
  const auto asked = [&](const auto& newest, const auto& older) {
    return nvml_list<nvml::ProcessInfo>(64, [&](nvml::ProcessInfo* found, std::uint32_t* count) {
      return newest.function != nullptr ? newest(device, count, found)
                                        : older(device, count, found);
    });
  };
  const auto compute = asked(CLEAVE_NVML(nvmlDeviceGetComputeRunningProcesses_v3),
                             CLEAVE_NVML(nvmlDeviceGetComputeRunningProcesses_v2));
  if (!compute) return std::unexpected(compute.error());
  std::vector<LiveProcess> processes;
  for (const nvml::ProcessInfo& info : *compute) processes.push_back(process_from(info));
  // Clients of MPS are in a list of their own, which not every driver has.
  const auto shared = asked(CLEAVE_NVML(nvmlDeviceGetMPSComputeRunningProcesses_v3),
                            CLEAVE_NVML(nvmlDeviceGetMPSComputeRunningProcesses_v2));
  if (shared)
    for (const nvml::ProcessInfo& info : *shared) processes.push_back(process_from(info));
  return processes;
}

DriverAnswer<std::vector<LiveProcess>> NvmlDoor::processes(GpuIndex gpu) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  const auto mode = mig_mode(gpu);
  const bool partitioned = mode && mode->current;
  auto whole = processes_of(*handle);
  if (!whole) {
    // With MIG on only privileged callers get the sum over the GPU; others add up the instances.
    const bool told_by_instances = refused_with(whole.error(), {no_permission, not_supported});
    if (!partitioned || !told_by_instances) return gave_up(gpu, whole.error());
    whole = std::vector<LiveProcess>{};
  }
  if (!partitioned) return merged(std::move(*whole));
  const auto instances = gpu_instances(gpu);
  if (!instances) return std::unexpected(instances.error());
  for (const LiveGpuInstance& instance : *instances) {
    const auto computes = compute_instances(gpu, instance.id);
    if (!computes && computes.error().code == not_found) continue;
    if (!computes) return std::unexpected(computes.error());
    for (const LiveComputeInstance& compute : *computes) {
      const auto found = compute_handle(gpu, instance.id, compute.id);
      nvml::ComputeInstanceInfo info{};
      if (!found || !CLEAVE_NVML(nvmlComputeInstanceGetInfo_v2)(*found, &info)) continue;
      const auto inside = processes_of(info.device);
      if (!inside) continue;
      for (LiveProcess process : *inside) {
        process.gpu_instance = instance.id;
        process.compute_instance = compute.id;
        whole->push_back(process);
      }
    }
  }
  return merged(std::move(*whole));
}

DriverAnswer<MigDevice> NvmlDoor::described_mig_device(nvml::Device device) {
  std::uint32_t instance = 0, compute = 0;
  if (const auto done = CLEAVE_NVML(nvmlDeviceGetGpuInstanceId)(device, &instance); !done)
    return std::unexpected(done.error());
  if (const auto done = CLEAVE_NVML(nvmlDeviceGetComputeInstanceId)(device, &compute); !done)
    return std::unexpected(done.error());
  auto id = uuid(device);
  if (!id) return std::unexpected(id.error());
  MigDevice found{GpuInstanceId{instance}, ComputeInstanceId{compute}, std::move(*id), {}, {}};
  if (const auto memory = memory_of(device)) found.memory = *memory;
  if (auto processes = processes_of(device)) {
    for (LiveProcess& process : *processes) {
      process.gpu_instance = found.gpu_instance;
      process.compute_instance = found.compute_instance;
    }
    found.processes = merged(std::move(*processes));
  }
  return found;
}

DriverAnswer<std::vector<MigDevice>> NvmlDoor::mig_devices(GpuIndex gpu) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  std::uint32_t most = 0;
  if (const auto done = CLEAVE_NVML(nvmlDeviceGetMaxMigDeviceCount)(*handle, &most); !done)
    return gave_up(gpu, done.error());
  std::vector<MigDevice> devices;
  for (std::uint32_t i = 0; i < std::min(most, mig_devices_most); ++i) {
    nvml::Device mig = nullptr;
    const auto done = CLEAVE_NVML(nvmlDeviceGetMigDeviceHandleByIndex)(*handle, i, &mig);
    if (!done && done.error().code == not_found) continue;  // no instance has this number
    if (!done) return gave_up(gpu, done.error());
    auto found = described_mig_device(mig);
    if (found) {
      devices.push_back(std::move(*found));
    } else if (!refused_with(found.error(),
                             {not_found, invalid_argument})) {  // otherwise it disappeared
      return gave_up(gpu, found.error());
    }
  }
  std::ranges::sort(devices, {}, [](const MigDevice& each) {
    return std::tuple(each.gpu_instance, each.compute_instance);
  });
  return devices;
}

DriverAnswer<MemoryUse> NvmlDoor::memory_of(nvml::Device device) {
  nvml::Memory2 newer{};
  newer.version = nvml::version_word<nvml::Memory2>(2);
  const auto done = CLEAVE_NVML(nvmlDeviceGetMemoryInfo_v2)(device, &newer);
  if (done) return MemoryUse{newer.total, newer.used};
  if (!refused_with(done.error(), {function_not_found, argument_version_mismatch}))
    return std::unexpected(done.error());
  nvml::Memory older{};  // here the memory reserved by the driver counts as used
  if (const auto old = CLEAVE_NVML(nvmlDeviceGetMemoryInfo)(device, &older); !old)
    return std::unexpected(old.error());
  return MemoryUse{older.total, older.used};
}

DriverAnswer<MemoryUse> NvmlDoor::memory(GpuIndex gpu) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  const auto use = memory_of(*handle);
  return use ? use : gave_up(gpu, use.error());
}

DriverAnswer<MemoryUse> NvmlDoor::memory(GpuIndex gpu, GpuInstanceId instance,
                                         ComputeInstanceId compute) {
  const auto found = compute_handle(gpu, instance, compute);
  if (!found) return std::unexpected(found.error());
  nvml::ComputeInstanceInfo info{};
  if (const auto done = CLEAVE_NVML(nvmlComputeInstanceGetInfo_v2)(*found, &info); !done)
    return std::unexpected(done.error());
  return memory_of(info.device);
}

DriverAnswer<std::uint32_t> NvmlDoor::power_milliwatts(GpuIndex gpu) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  std::uint32_t milliwatts = 0;
  if (const auto done = CLEAVE_NVML(nvmlDeviceGetPowerUsage)(*handle, &milliwatts); !done)
    return gave_up(gpu, done.error());
  return milliwatts;
}

DriverAnswer<std::uint32_t> NvmlDoor::power_limit_milliwatts(GpuIndex gpu) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  std::uint32_t milliwatts = 0;
  if (const auto done = CLEAVE_NVML(nvmlDeviceGetEnforcedPowerLimit)(*handle, &milliwatts); !done)
    return gave_up(gpu, done.error());
  return milliwatts;
}

DriverAnswer<std::uint64_t> NvmlDoor::energy_millijoules(GpuIndex gpu) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  std::uint64_t millijoules = 0;
  if (const auto done = CLEAVE_NVML(nvmlDeviceGetTotalEnergyConsumption)(*handle, &millijoules);
      !done)
    return gave_up(gpu, done.error());
  return millijoules;
}

DriverAnswer<nvml::EventSet> NvmlDoor::listening() {
  if (events_ != nullptr) return events_;
  const auto count = gpu_count();
  if (!count) return std::unexpected(count.error());
  nvml::EventSet set = nullptr;
  if (const auto done = CLEAVE_NVML(nvmlEventSetCreate)(&set); !done)
    return std::unexpected(done.error());
  events_ = set;
  bool any = false;
  Refusal why{not_supported, "nvmlDeviceRegisterEvents"};
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto handle = device(GpuIndex{i});
    if (!handle) continue;  // lost; the others are still watched
    std::uint64_t types = nvml::event_xid | nvml::event_gpu_unavailable, known = 0;
    if (CLEAVE_NVML(nvmlDeviceGetSupportedEventTypes)(*handle, &known)) types &= known;
    if (types == 0) continue;
    const auto done = CLEAVE_NVML(nvmlDeviceRegisterEvents)(*handle, types, set);
    if (!done) why = done.error();
    any = any || done.has_value();
  }
  if (any) return events_;
  stop_listening();
  return std::unexpected(std::move(why));
}

void NvmlDoor::stop_listening() {
  if (events_ != nullptr) (void)CLEAVE_NVML(nvmlEventSetFree)(events_);
  events_ = nullptr;
}

std::optional<GpuIndex> NvmlDoor::index_of(nvml::Device device) {
  for (const auto& [index, handle] : devices_)
    if (handle == device) return index;
  // Perhaps another handle of the same GPU.
  const auto wanted = uuid(device);
  if (!wanted) return std::nullopt;
  for (const auto& [index, handle] : devices_) {
    const auto each = uuid(handle);
    if (each && *each == *wanted) return index;
  }
  return std::nullopt;
}

DriverAnswer<std::optional<GpuEvent>> NvmlDoor::wait_event(std::chrono::milliseconds at_most) {
  const auto set = listening();
  if (!set) return std::unexpected(set.error());
  const auto longest = std::chrono::milliseconds::rep{std::numeric_limits<std::int32_t>::max()};
  const auto wait =
      static_cast<std::uint32_t>(std::clamp(at_most.count(), std::int64_t{0}, longest));
  nvml::EventData data{};
  data.gpu_instance_id = data.compute_instance_id = nvml::no_instance;
  const auto done = CLEAVE_NVML(nvmlEventSetWait_v2)(*set, &data, wait);
  if (!done && done.error().code == timeout) return std::optional<GpuEvent>{};
  if (!done) {
    stop_listening();  // the next call registers again, for the remaining GPUs
    return std::unexpected(done.error());
  }
  GpuEvent event;
  event.kind = kind_of(data.type);
  event.data = data.data;
  const auto index = index_of(data.device);
  if (!index) return std::unexpected(Refusal{gpu_not_found, "nvmlEventSetWait_v2"});
  event.gpu = *index;
  if (data.gpu_instance_id != nvml::no_instance)
    event.gpu_instance = GpuInstanceId{data.gpu_instance_id};
  if (data.compute_instance_id != nvml::no_instance)
    event.compute_instance = ComputeInstanceId{data.compute_instance_id};
  return std::optional(event);
}

}  // namespace cleave
