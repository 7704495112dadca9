// Memory, processes and temperature.

#include <bit>
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

void put_process(const ProcessInfo& from, ProcessInfo1& to) {
  to = {from.pid, from.used_memory};
}
void put_process(const ProcessInfo& from, ProcessInfo& to) {
  to = from;
}
void put_process(const ProcessInfo& from, ProcessDetail& to) {
  to = {from.pid, from.used_memory, from.gpu_instance_id, from.compute_instance_id, 0};
}

/// Lists those on the device that was asked for; `count` is the room there is, and then the number
/// of them.
template <class Info>
Return put_processes(const Call& call, const GpuAccess& access, Slot slot, std::uint32_t& count,
                     Info* processes) {
  const std::uint32_t room = count;
  const GpuRecord& record = access.record();
  std::uint32_t found = 0;
  for (std::uint32_t i = 0; i < std::min(record.process_count, most_processes); ++i) {
    ProcessInfo info;
    if (!describe_process(call, access, slot, record.processes[i], info)) continue;
    if (found < room) put_process(info, processes[found]);
    ++found;
  }
  count = found;
  return found > room ? insufficient_size : success;
}

template <class Info>
Return list_processes(Device device, std::uint32_t* count, Info* processes) {
  return on_device(
      device,
      [&](const Call& call, GpuAccess& access, std::uint32_t, Slot slot) {
        if (count == nullptr || (*count > 0 && processes == nullptr)) return invalid_argument;
        if (!may_see_all(call, access, slot)) return no_permission;
        return put_processes(call, access, slot, *count, processes);
      },
      Dead::are_taken_out);
}

/// Graphics and MPS clients: there are none.
Return list_none(Device device, std::uint32_t* count) {
  return always(device, count, 0);
}

// Invented: a GPU has 30 degrees at idle and 75 at the power cap.
constexpr double idle_celsius = 30, hot_celsius = 75;
constexpr std::uint32_t sensor_gpu = 0, thresholds = 8;

/// Temperatures, as far as the driver tells them: shutdown, slowdown, and the highest of the memory
/// and of the GPU at which they run in full.
struct Thresholds {
  std::array<std::optional<int>, 4> celsius;
  /// That from which the margin counts.
  int margin;
};
/// Of Hopper: measured on an H100 80GB HBM3, driver 580.159.04. Of others: invented.
Thresholds thresholds_of(const Board& board) {
  if (board.model->architecture == Architecture::hopper) return {{95, 89, 95, 87}, 87};
  return {{95, 90, {}, {}}, 90};
}

int celsius_of(const GpuAccess& access) {
  const auto [cap, idle] = power_limits(access.board());
  const double share = std::clamp((access.record().power_w - idle) / (cap - idle), 0.0, 1.0);
  return std::isfinite(share)
             ? static_cast<int>(std::lround(idle_celsius + share * (hot_celsius - idle_celsius)))
             : 0;
}

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

Return nvmlDeviceGetRunningProcessDetailList(Device device, ProcessDetailList* list) {
  return on_device(
      device,
      [&](const Call& call, GpuAccess& access, std::uint32_t, Slot slot) {
        if (list == nullptr || list->version != version_word<ProcessDetailList>(1) ||
            list->mode > processes_all || (list->count > 0 && list->processes == nullptr))
          return invalid_argument;
        if (!may_see_all(call, access, slot)) return no_permission;
        const bool any = list->mode == processes_compute || list->mode == processes_all;
        return any ? put_processes(call, access, slot, list->count, list->processes)
                   : put(&list->count, 0);
      },
      Dead::are_taken_out);
}

Return nvmlDeviceGetBAR1MemoryInfo(Device device, Bar1Memory* bar1) {
  return on_device(device, [&](const Call& call, GpuAccess& access, std::uint32_t, Slot slot) {
    if (bar1 == nullptr) return invalid_argument;
    if (!may_see_all(call, access, slot)) return no_permission;
    const Board& board = access.board();
    const std::uint64_t whole = std::bit_ceil(board.memory_mib + 1) * bytes_per_mib;
    std::uint64_t total = whole;
    if (slot) {
      const auto parent = access.record().compute_instances[*slot].gpu_instance;
      const Profile& profile = *placement_of(board, access.record(), parent).profile;
      total = whole * static_cast<std::uint64_t>(profile.memory.value) /
                  static_cast<std::uint64_t>(board.model->memory_slices.value) -
              bytes_per_mib;
    }
    *bar1 = {total, total, 0};
    return success;
  });
}

Return nvmlDeviceGetTemperature(Device device, std::uint32_t sensor, std::uint32_t* celsius) {
  return on_whole_gpu(
      device, sensor == sensor_gpu && celsius != nullptr,
      [&](GpuAccess& access, std::uint32_t) { return put(celsius, celsius_of(access)); });
}
Return nvmlDeviceGetTemperatureV(Device device, TemperatureQuery* temperature) {
  return on_whole_gpu(device, temperature != nullptr && temperature->sensor == sensor_gpu,
                      [&](GpuAccess& access, std::uint32_t) {
                        if (temperature->version != version_word<TemperatureQuery>(1))
                          return argument_version_mismatch;
                        return put(&temperature->celsius, celsius_of(access));
                      });
}
Return nvmlDeviceGetMarginTemperature(Device device, MarginTemperature* margin) {
  return on_whole_gpu(device, margin != nullptr, [&](GpuAccess& access, std::uint32_t) {
    if (margin->version != version_word<MarginTemperature>(1)) return argument_version_mismatch;
    return put(&margin->celsius, thresholds_of(access.board()).margin - celsius_of(access));
  });
}
Return nvmlDeviceGetTemperatureThreshold(Device device, std::uint32_t threshold,
                                         std::uint32_t* celsius) {
  return on_whole_gpu(
      device, threshold < thresholds && celsius != nullptr, [&](GpuAccess& access, std::uint32_t) {
        const Thresholds known = thresholds_of(access.board());
        const bool told = threshold < known.celsius.size() && known.celsius[threshold];
        return told ? put(celsius, *known.celsius[threshold]) : not_supported;
      });
}

}  // namespace cleave::nvml
