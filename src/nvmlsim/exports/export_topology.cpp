// How GPUs are connected with each other and with processors. Invented: all are on one NUMA node,
// with every processor; 0 and 1, 2 and 3 and so on are each behind one PCIe switch, on boards of
// their own.

#include <unistd.h>

#include "nvmlsim/exports/exported.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

std::uint32_t level_between(std::uint32_t gpu, std::uint32_t other) {
  if (gpu == other) return topology_internal;
  return gpu / 2 == other / 2 ? topology_one_switch : topology_node;
}

/// `f(gpu, other)` on the handles of two whole GPUs.
template <class F>
Return on_two_gpus(Device device, Device other, bool arguments_fine, F&& f) {
  std::uint32_t first = 0;
  const auto number = [](std::uint32_t& place) {
    return [&place](const Call&, GpuAccess&, std::uint32_t gpu) {
      place = gpu;
      return success;
    };
  };
  if (const Return there = on_gpu(device, number(first)); there != success) return there;
  std::uint32_t second = 0;
  if (const Return there = on_gpu(other, number(second)); there != success) return there;
  return arguments_fine ? f(first, second) : invalid_argument;
}

/// Lists the node's GPUs for which `is_one(gpu)`. A count of 0 asks how many there are.
template <class F>
Return list_gpus(const Call& call, std::uint32_t* count, Device* devices, F&& is_one) {
  if (count == nullptr || (*count > 0 && devices == nullptr)) return invalid_argument;
  const std::uint32_t room = *count;
  std::uint32_t found = 0;
  for (std::uint32_t gpu = 0; gpu < call.node().gpus(); ++gpu) {
    if (!is_one(gpu)) continue;
    if (found < room) devices[found] = gpu_handle(gpu);
    ++found;
  }
  *count = room == 0 ? found : std::min(room, found);
  return success;
}

std::uint32_t cpus() {
  return static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

Return put_set(std::uint32_t size, std::uint64_t* set, std::uint32_t members) {
  if (set == nullptr || size == 0) return invalid_argument;
  std::fill_n(set, size, 0);
  for (std::uint32_t member = 0; member < members && member / 64 < size; ++member)
    set[member / 64] |= 1ULL << member % 64;
  return success;
}

Return put_affinity(Device device, std::uint32_t size, std::uint64_t* set, std::uint32_t scope,
                    std::uint32_t members) {
  return on_device(device, [&](const Call&, GpuAccess&, std::uint32_t, std::optional<std::size_t>) {
    return scope > affinity_socket ? invalid_argument : put_set(size, set, members);
  });
}

}  // namespace

Return nvmlDeviceGetCpuAffinity(Device device, std::uint32_t size, std::uint64_t* set) {
  return put_affinity(device, size, set, affinity_node, cpus());
}
Return nvmlDeviceGetCpuAffinityWithinScope(Device device, std::uint32_t size, std::uint64_t* set,
                                           std::uint32_t scope) {
  return put_affinity(device, size, set, scope, cpus());
}
Return nvmlDeviceGetMemoryAffinity(Device device, std::uint32_t size, std::uint64_t* set,
                                   std::uint32_t scope) {
  return put_affinity(device, size, set, scope, 1);
}

Return nvmlSystemGetTopologyGpuSet(std::uint32_t cpu, std::uint32_t* count, Device* devices) {
  const Call call;
  if (call.status() != success) return call.status();
  if (cpu >= cpus()) return invalid_argument;
  return list_gpus(call, count, devices, [](std::uint32_t) { return true; });
}

Return nvmlDeviceGetTopologyNearestGpus(Device device, std::uint32_t level, std::uint32_t* count,
                                        Device* devices) {
  return on_gpu(device, [&](const Call& call, GpuAccess&, std::uint32_t gpu) {
    if (level > topology_system || level % 10 != 0) return invalid_argument;
    return list_gpus(call, count, devices, [&](std::uint32_t other) {
      return other != gpu && level_between(gpu, other) == level;
    });
  });
}

/// Not of a GPU with itself: measured on an H100 80GB HBM3, driver 580.159.04.
Return nvmlDeviceGetTopologyCommonAncestor(Device device, Device other, std::uint32_t* level) {
  return on_two_gpus(device, other, level != nullptr, [&](std::uint32_t gpu, std::uint32_t second) {
    if (gpu == second) return not_supported;
    return put(level, level_between(gpu, second));
  });
}

/// Over PCIe, and only between GPUs with MIG off. A GPU is not its own peer, and the kind "unknown"
/// is answered: measured on an H100 80GB HBM3, driver 580.159.04.
Return nvmlDeviceGetP2PStatus(Device device, Device other, std::uint32_t kind,
                              std::uint32_t* status) {
  const auto with_mig = [](Device each) {
    std::uint32_t mode = mig_disabled, pending = 0;
    return nvmlDeviceGetMigMode(each, &mode, &pending) == success && mode == mig_enabled;
  };
  return on_two_gpus(
      device, other, kind <= peer_kinds && status != nullptr,
      [&](std::uint32_t gpu, std::uint32_t second) {
        const bool none =
            gpu == second || kind == peer_nvlink || with_mig(device) || with_mig(other);
        return put(status, none && kind != peer_kinds ? peers_not_supported : peers_ok);
      });
}

Return nvmlDeviceOnSameBoard(Device device, Device other, int* same) {
  return on_two_gpus(device, other, same != nullptr, [&](std::uint32_t gpu, std::uint32_t second) {
    return put(same, gpu == second ? 1 : 0);
  });
}

Return nvmlDeviceGetBoardId(Device device, std::uint32_t* id) {
  return on_whole_gpu(device, id != nullptr, [&](GpuAccess&, std::uint32_t gpu) {
    return put(id, (gpu + 1) << 8U);  // made of the bus, as drivers do
  });
}
Return nvmlDeviceGetMultiGpuBoard(Device device, std::uint32_t* several) {
  return on_whole_gpu(device, several != nullptr,
                      [&](GpuAccess&, std::uint32_t) { return put(several, 0); });
}
/// Invented: boards with eight modules.
Return nvmlDeviceGetModuleId(Device device, std::uint32_t* id) {
  return on_whole_gpu(device, id != nullptr,
                      [&](GpuAccess&, std::uint32_t gpu) { return put(id, gpu % 8 + 1); });
}

}  // namespace cleave::nvml
