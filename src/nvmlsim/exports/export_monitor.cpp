// Memory, processes, power, energy, clocks and temperature.

#include <cmath>

#include "nvmlsim/energy.hpp"
#include "nvmlsim/exports/exported.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

using Slot = std::optional<std::size_t>;

struct MemoryFigures {
  std::uint64_t total, reserved, used;
};

MemoryFigures memory_of(const GpuAccess& access, Slot slot) {
  if (slot) {
    const std::size_t parent = access.record().compute_instances[*slot].gpu_instance;
    const std::uint64_t total = capacity_bytes(access.board(), access.record(), parent);
    return {total, 0, std::min(total, used_bytes(access.record(), parent))};
  }
  const std::uint64_t total = access.board().memory_mib * bytes_per_mib;
  const std::uint64_t usable = std::min(total, access.board().usable_mib * bytes_per_mib);
  return {total, total - usable, std::min(usable, used_bytes(access.record()))};
}

/// NVML's numbers of the instance that the process is on; false if it is not on the device asked
/// for.
bool describe_process(const Call& call, const GpuAccess& access, Slot asked,
                      const ProcessRecord& process, ProcessInfo& info) {
  info = {pid_of(process.identity), process.bytes, no_instance, no_instance};
  const Slot slot = find_compute_instance(access.record(), process.compute);
  if (asked && slot != asked) return false;
  if (!slot) return true;
  const ComputeInstanceRecord& compute = access.record().compute_instances[*slot];
  const auto placement =
      access.record().gpu_instances[compute.gpu_instance % instance_slots].placement;
  if (placement >= access.board().geometry.size()) return false;
  info.gpu_instance_id = gpu_instance_id(access.board(), placement, call.node().numbering());
  info.compute_instance_id = compute.id;
  return true;
}

/// With MIG on, only root may read what all instances of the GPU hold together.
bool may_see_all(const Call& call, const GpuAccess& access, Slot slot) {
  return slot || access.record().mig_enabled == 0 || call.node().privileged();
}

template <class Info>
void put_process(const ProcessInfo& from, Info& to) {
  if constexpr (std::is_same_v<Info, ProcessInfo>)
    to = from;
  else
    to = {from.pid, from.used_memory};
}

template <class Info>
Return list_processes(Device device, std::uint32_t* count, Info* processes) {
  return on_device(
      device,
      [&](const Call& call, GpuAccess& access, std::uint32_t, Slot slot) {
        if (count == nullptr) return invalid_argument;
        if (!may_see_all(call, access, slot)) return no_permission;
        const std::uint32_t room = processes == nullptr ? 0 : *count;
        const GpuRecord& record = access.record();
        std::uint32_t found = 0;
        for (std::uint32_t i = 0; i < std::min(record.process_count, most_processes); ++i) {
          ProcessInfo info;
          if (!describe_process(call, access, slot, record.processes[i], info)) continue;
          if (found < room) put_process(info, processes[found]);
          ++found;
        }
        *count = found;
        return found > room ? insufficient_size : success;
      },
      Dead::are_taken_out);
}

/// Graphics and MPS clients: there are none.
Return list_none(Device device, std::uint32_t* count) {
  return on_device(device,
                   [&](const Call&, GpuAccess&, std::uint32_t, Slot) { return put(count, 0); });
}

std::uint32_t milliwatts(double watts) {
  return std::isfinite(watts)
             ? static_cast<std::uint32_t>(std::lround(std::clamp(watts, 0.0, 1e6) * 1000))
             : 0;
}

std::uint64_t millijoules(const GpuAccess& access) {
  const double joules = energy_joules(access.record(), now_ns());
  return std::isfinite(joules) && joules > 0
             ? static_cast<std::uint64_t>(std::min(joules, 1e15) * 1000)
             : 0;
}

/// Drivers know these for whole GPUs only.
template <class F>
Return on_whole_gpu(Device device, F&& f) {
  return on_device(
      device,
      [&](const Call&, GpuAccess& access, std::uint32_t, Slot slot) {
        return slot ? not_supported : f(access);
      },
      Dead::are_taken_out);
}

// Invented: a GPU has 30 degrees at idle and 75 at the power cap; it slows down at 90.
constexpr double idle_celsius = 30, hot_celsius = 75;
constexpr std::uint32_t slowdown_celsius = 90, shutdown_celsius = 95;

}  // namespace

Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory_info) {
  return on_device(
      device,
      [&](const Call& call, GpuAccess& access, std::uint32_t, Slot slot) {
        if (memory_info == nullptr) return invalid_argument;
        if (!may_see_all(call, access, slot)) return no_permission;
        const MemoryFigures is = memory_of(access, slot);
        *memory_info = {is.total, is.total - is.reserved - is.used, is.reserved + is.used};
        return success;
      },
      Dead::are_taken_out);
}

Return nvmlDeviceGetMemoryInfo_v2(Device device, Memory2* memory_info) {
  return on_device(
      device,
      [&](const Call& call, GpuAccess& access, std::uint32_t, Slot slot) {
        if (memory_info == nullptr) return invalid_argument;
        if (memory_info->version != version_word<Memory2>(2)) return argument_version_mismatch;
        if (!may_see_all(call, access, slot)) return no_permission;
        const MemoryFigures is = memory_of(access, slot);
        *memory_info = {memory_info->version, is.total, is.reserved,
                        is.total - is.reserved - is.used, is.used};
        return success;
      },
      Dead::are_taken_out);
}

Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, std::uint32_t* count,
                                               ProcessInfo* processes) {
  return list_processes(device, count, processes);
}
Return nvmlDeviceGetComputeRunningProcesses_v2(Device device, std::uint32_t* count,
                                               ProcessInfo* processes) {
  return list_processes(device, count, processes);
}
Return nvmlDeviceGetComputeRunningProcesses(Device device, std::uint32_t* count,
                                            ProcessInfo1* processes) {
  return list_processes(device, count, processes);
}
Return nvmlDeviceGetGraphicsRunningProcesses(Device device, std::uint32_t* count, ProcessInfo1*) {
  return list_none(device, count);
}
Return nvmlDeviceGetGraphicsRunningProcesses_v2(Device device, std::uint32_t* count, ProcessInfo*) {
  return list_none(device, count);
}
Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, std::uint32_t* count, ProcessInfo*) {
  return list_none(device, count);
}
Return nvmlDeviceGetMPSComputeRunningProcesses(Device device, std::uint32_t* count, ProcessInfo1*) {
  return list_none(device, count);
}
Return nvmlDeviceGetMPSComputeRunningProcesses_v2(Device device, std::uint32_t* count,
                                                  ProcessInfo*) {
  return list_none(device, count);
}
Return nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, std::uint32_t* count,
                                                  ProcessInfo*) {
  return list_none(device, count);
}

Return nvmlDeviceGetUtilizationRates(Device device, Utilization* rates) {
  return on_whole_gpu(device, [&](GpuAccess& access) {
    if (rates == nullptr) return invalid_argument;
    if (access.record().mig_enabled != 0) return not_supported;
    const auto percent =
        static_cast<std::uint32_t>(std::lround(100 * busy_share(access.board(), access.record())));
    *rates = {percent, percent / 2};  // memory: invented
    return success;
  });
}

Return nvmlDeviceGetPowerUsage(Device device, std::uint32_t* place) {
  return on_whole_gpu(
      device, [&](GpuAccess& access) { return put(place, milliwatts(access.record().power_w)); });
}
Return nvmlDeviceGetTotalEnergyConsumption(Device device, std::uint64_t* place) {
  return on_whole_gpu(device, [&](GpuAccess& access) { return put(place, millijoules(access)); });
}
Return nvmlDeviceGetEnforcedPowerLimit(Device device, std::uint32_t* place) {
  return on_whole_gpu(device, [&](GpuAccess& access) {
    return put(place, milliwatts(power_limits(access.board()).cap_w));
  });
}
Return nvmlDeviceGetPowerManagementLimit(Device device, std::uint32_t* place) {
  return nvmlDeviceGetEnforcedPowerLimit(device, place);
}
Return nvmlDeviceGetPowerManagementDefaultLimit(Device device, std::uint32_t* place) {
  return nvmlDeviceGetEnforcedPowerLimit(device, place);
}
Return nvmlDeviceGetPowerManagementLimitConstraints(Device device, std::uint32_t* least,
                                                    std::uint32_t* most) {
  return on_whole_gpu(device, [&](GpuAccess& access) {
    if (least == nullptr || most == nullptr) return invalid_argument;
    *most = milliwatts(power_limits(access.board()).cap_w);
    *least = *most / 4;  // invented; an A100 shows 100 of 400 W
    return success;
  });
}

Return nvmlDeviceGetTemperature(Device device, std::uint32_t sensor, std::uint32_t* celsius) {
  return on_whole_gpu(device, [&](GpuAccess& access) {
    if (sensor != 0) return invalid_argument;
    const auto [cap, idle] = power_limits(access.board());
    const double share = std::clamp((access.record().power_w - idle) / (cap - idle), 0.0, 1.0);
    return put(celsius, std::isfinite(share)
                            ? std::lround(idle_celsius + share * (hot_celsius - idle_celsius))
                            : 0);
  });
}
Return nvmlDeviceGetTemperatureThreshold(Device device, std::uint32_t threshold,
                                         std::uint32_t* celsius) {
  return on_whole_gpu(device, [&](GpuAccess&) {
    if (threshold == 0) return put(celsius, shutdown_celsius);
    return threshold == 1 ? put(celsius, slowdown_celsius) : not_supported;
  });
}

Return nvmlDeviceGetMaxClockInfo(Device device, ClockType type, std::uint32_t* mhz) {
  return on_whole_gpu(device, [&](GpuAccess& access) {
    if (type > ClockType::video) return invalid_argument;
    const BoardRow& row = access.board().row;
    return put(mhz, type == ClockType::memory ? row.memory_mhz : row.sm_mhz);
  });
}
// Invented: the highest clocks while anything runs, else a quarter of the processors' clock.
Return nvmlDeviceGetClockInfo(Device device, ClockType type, std::uint32_t* mhz) {
  return on_whole_gpu(device, [&](GpuAccess& access) {
    if (type > ClockType::video) return invalid_argument;
    const BoardRow& row = access.board().row;
    const std::uint32_t sm = access.record().process_count > 0 ? row.sm_mhz : row.sm_mhz / 4;
    return put(mhz, type == ClockType::memory ? row.memory_mhz : sm);
  });
}
Return nvmlDeviceGetPerformanceState(Device device, std::uint32_t* state) {
  return on_whole_gpu(device, [&](GpuAccess&) { return put(state, 0); });
}
Return nvmlDeviceGetPcieThroughput(Device device, std::uint32_t counter,
                                   std::uint32_t* kilobytes_per_s) {
  return on_whole_gpu(device, [&](GpuAccess& access) {
    if (counter > 1) return invalid_argument;
    if (access.record().mig_enabled != 0) return not_supported;
    return put(kilobytes_per_s, 0);
  });
}

}  // namespace cleave::nvml
