// What a GPU or MIG device is: names, UUIDs and numbers; and from GPUs to their MIG devices and
// back.

#include <unistd.h>

#include "base/format.hpp"
#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/uuid.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

using Slot = std::optional<std::size_t>;

/// The UUID of the compute instance in this slot.
const Profile& profile_at(const GpuAccess& access, std::size_t slot) {
  const auto parent = access.record().compute_instances[slot].gpu_instance;
  return *placement_of(access.board(), access.record(), parent).profile;
}

/// The same answer for every existing device.
template <class Number, class Value>
Return always(Device device, Number* place, Value value) {
  return on_device(device,
                   [&](const Call&, GpuAccess&, std::uint32_t, Slot) { return put(place, value); });
}

}  // namespace

Return nvmlDeviceGetName(Device device, char* name, std::uint32_t size) {
  return on_device(device, [&](const Call&, GpuAccess& access, std::uint32_t, Slot slot) {
    const std::string_view board = access.board().model->driver_names.front();
    if (!slot) return put_text(board, name, size);
    const std::uint32_t slices = access.record().compute_instances[*slot].slices;
    return put_text(
        fmt::format("{} MIG {}", board, device_profile_name(profile_at(access, *slot), slices)),
        name, size);
  });
}

Return nvmlDeviceGetUUID(Device device, char* uuid, std::uint32_t size) {
  return on_device(device, [&](const Call&, GpuAccess& access, std::uint32_t, Slot slot) {
    const auto text = slot ? uuid_text("MIG-", access.record().compute_instances[*slot].uuid)
                           : uuid_text("GPU-", access.cell().uuid);
    return put_text(text.data(), uuid, size);
  });
}

Return nvmlDeviceGetMinorNumber(Device device, std::uint32_t* minor) {
  return on_device(
      device, [&](const Call&, GpuAccess&, std::uint32_t gpu, Slot) { return put(minor, gpu); });
}

Return nvmlDeviceGetIndex(Device device, std::uint32_t* index) {
  return on_device(device, [&](const Call& call, GpuAccess& access, std::uint32_t gpu, Slot slot) {
    if (!slot) return put(index, gpu);
    const MigIndices& indices = call.node().mig_indices(gpu, access.record());
    const Slot at = indices.index_of(access.record().compute_instances[*slot].serial);
    return at ? put(index, *at) : unknown;
  });
}

Return nvmlDeviceGetBrand(Device device, std::uint32_t* brand) {
  return on_device(device, [&](const Call&, GpuAccess& access, std::uint32_t, Slot) {
    return put(brand, access.board().row.brand);
  });
}

Return nvmlDeviceGetArchitecture(Device device, std::uint32_t* architecture) {
  return on_device(device, [&](const Call&, GpuAccess& access, std::uint32_t, Slot) {
    return put(architecture, nvml_number(access.board().model->architecture));
  });
}

Return nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  return on_device(device, [&](const Call&, GpuAccess& access, std::uint32_t, Slot) {
    if (major == nullptr || minor == nullptr) return invalid_argument;
    const auto capability = access.board().model->capability;
    if (!capability) return not_supported;
    *major = capability->major;
    *minor = capability->minor;
    return success;
  });
}

Return nvmlDeviceIsMigDeviceHandle(Device device, std::uint32_t* is) {
  return on_device(device, [&](const Call&, GpuAccess&, std::uint32_t, Slot slot) {
    return put(is, slot.has_value() ? 1 : 0);
  });
}

Return nvmlDeviceGetGpuInstanceId(Device device, std::uint32_t* id) {
  return on_instance(
      HandleKind::mig_device, device,
      [&](const Call& call, GpuAccess& access, std::uint32_t, std::size_t slot) {
        const auto parent = access.record().compute_instances[slot].gpu_instance % instance_slots;
        const auto placement = access.record().gpu_instances[parent].placement;
        if (placement >= access.board().geometry.size()) return unknown;
        return put(id, gpu_instance_id(access.board(), placement, call.node().numbering()));
      });
}

Return nvmlDeviceGetComputeInstanceId(Device device, std::uint32_t* id) {
  return on_instance(HandleKind::mig_device, device,
                     [&](const Call&, GpuAccess& access, std::uint32_t, std::size_t slot) {
                       return put(id, access.record().compute_instances[slot].id);
                     });
}

Return nvmlDeviceGetMaxMigDeviceCount(Device device, std::uint32_t* count) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    return put(count, access.record().mig_enabled != 0 ? access.board().model->compute.value : 0);
  });
}

Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, std::uint32_t index, Device* mig) {
  return on_gpu(device, [&](const Call& call, GpuAccess& access, std::uint32_t gpu) {
    if (mig == nullptr || index >= static_cast<std::uint32_t>(access.board().model->compute.value))
      return invalid_argument;
    if (access.record().mig_enabled == 0) return not_supported;
    const GpuRecord& record = access.record();
    const Slot slot = call.node().mig_indices(gpu, record).slot_of(record, index);
    if (!slot) return not_found;
    call.hold(gpu, *slot);
    return put(mig, make_handle<Device>(HandleKind::mig_device, gpu,
                                        record.compute_instances[*slot].serial));
  });
}

Return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device mig, Device* device) {
  return on_instance(HandleKind::mig_device, mig,
                     [&](const Call&, GpuAccess&, std::uint32_t gpu, std::size_t) {
                       return put(device, gpu_handle(gpu));
                     });
}

Return nvmlDeviceGetAttributes_v2(Device mig, DeviceAttributes* attributes) {
  return on_device(mig, [&](const Call&, GpuAccess& access, std::uint32_t, Slot slot) {
    if (attributes == nullptr) return invalid_argument;
    if (!slot) return not_supported;
    const Board& board = access.board();
    const ComputeInstanceRecord& compute = access.record().compute_instances[*slot];
    const ProfileFacts& parent =
        board.profiles[profile_of(board, access.record(), compute.gpu_instance)];
    const ComputeProfile* profile =
        compute_profile(board, access.record(), compute.gpu_instance, compute.profile);
    if (profile == nullptr) return unknown;
    const auto number = [](int value) { return static_cast<std::uint32_t>(value); };
    *attributes = {profile->sms,
                   number(parent.engines.copy),
                   number(parent.engines.decode),
                   number(parent.engines.encode),
                   number(parent.engines.jpeg),
                   number(parent.engines.flow),
                   number(parent.profile->compute.value),
                   compute.slices,
                   parent.memory_mib};
    return success;
  });
}
Return nvmlDeviceGetAttributes(Device mig, DeviceAttributes* attributes) {
  return nvmlDeviceGetAttributes_v2(mig, attributes);
}

// Persistence mode is on, so that the driver keeps its state; no display; compute mode "default".
Return nvmlDeviceGetPersistenceMode(Device device, std::uint32_t* mode) {
  return always(device, mode, 1);
}
Return nvmlDeviceGetComputeMode(Device device, std::uint32_t* mode) {
  return always(device, mode, 0);
}
Return nvmlDeviceGetDisplayActive(Device device, std::uint32_t* mode) {
  return always(device, mode, 0);
}
Return nvmlDeviceGetDisplayMode(Device device, std::uint32_t* mode) {
  return always(device, mode, 0);
}

Return nvmlDeviceGetMaxPcieLinkGeneration(Device device, std::uint32_t* generation) {
  return on_device(device, [&](const Call&, GpuAccess& access, std::uint32_t, Slot) {
    return put(generation, access.board().row.pcie_generation);
  });
}
Return nvmlDeviceGetCurrPcieLinkGeneration(Device device, std::uint32_t* generation) {
  return nvmlDeviceGetMaxPcieLinkGeneration(device, generation);
}
Return nvmlDeviceGetMaxPcieLinkWidth(Device device, std::uint32_t* width) {
  return always(device, width, 16);
}
Return nvmlDeviceGetCurrPcieLinkWidth(Device device, std::uint32_t* width) {
  return always(device, width, 16);
}

Return nvmlDeviceGetCpuAffinity(Device device, std::uint32_t size, std::uint64_t* set) {
  return on_device(device, [&](const Call&, GpuAccess&, std::uint32_t, Slot) {
    if (set == nullptr || size == 0) return invalid_argument;
    const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
    std::fill_n(set, size, 0);
    for (std::uint32_t cpu = 0;
         cpu < static_cast<std::uint32_t>(std::max(1L, cpus)) && cpu / 64 < size; ++cpu)
      set[cpu / 64] |= 1ULL << cpu % 64;
    return success;
  });
}

}  // namespace cleave::nvml
