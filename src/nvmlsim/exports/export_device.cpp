// What a GPU or MIG device is: names, UUIDs and numbers; and from GPUs to their MIG devices and
// back.

#include "base/format.hpp"
#include "nvmlsim/driver_facts.hpp"
#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/fence.hpp"
#include "nvmlsim/uuid.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

using Slot = std::optional<std::size_t>;

/// The profile of the GPU instance that the compute instance in this slot is in.
const Profile& profile_at(const GpuAccess& access, std::size_t slot) {
  const auto parent = access.record().compute_instances[slot].gpu_instance;
  return *placement_of(access.board(), access.record(), parent).profile;
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

/// An index above all that there can be is not found, and no wrong argument as documented: measured
/// on an H100 80GB HBM3, driver 580.159.04, MIG off.
Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, std::uint32_t index, Device* mig) {
  return on_gpu(device, [&](const Call& call, GpuAccess& access, std::uint32_t gpu) {
    if (mig == nullptr) return invalid_argument;
    if (index >= static_cast<std::uint32_t>(access.board().model->compute.value)) return not_found;
    if (access.record().mig_enabled == 0) return not_supported;
    const GpuRecord& record = access.record();
    const Slot slot = call.node().mig_indices(gpu, record).slot_of(record, index);
    if (!slot || !can_reach(record.compute_instances[*slot].uuid)) return not_found;
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

// There is no display. That its mode is on all the same was measured on an H100 80GB HBM3, driver
// 580.159.04.
Return nvmlDeviceGetDisplayActive(Device device, std::uint32_t* mode) {
  return always(device, mode, 0);
}
Return nvmlDeviceGetDisplayMode(Device device, std::uint32_t* mode) {
  return always(device, mode, 1);
}

// There are no virtual GPUs, and the host's memory is addressed as over PCIe.
Return nvmlDeviceGetVirtualizationMode(Device device, std::uint32_t* mode) {
  return always(device, mode, 0);
}
Return nvmlDeviceGetAddressingMode(Device device, AddressingMode* mode) {
  return on_device(device, [&](const Call&, GpuAccess&, std::uint32_t, Slot) {
    if (mode == nullptr) return invalid_argument;
    if (mode->version != version_word<AddressingMode>(1)) return argument_version_mismatch;
    mode->mode = 0;
    return success;
  });
}

/// By architecture, 64 cores in each SM of an A100 or A30, 128 in those of all newer GPUs.
Return nvmlDeviceGetNumGpuCores(Device device, std::uint32_t* cores) {
  return on_whole_gpu(device, cores != nullptr, [&](GpuAccess& access, std::uint32_t) {
    const Board& board = access.board();
    return put(cores, board.sms * (board.model->architecture == Architecture::ampere ? 64 : 128));
  });
}
Return nvmlDeviceGetMemoryBusWidth(Device device, std::uint32_t* bits) {
  return on_whole_gpu(device, bits != nullptr, [&](GpuAccess& access, std::uint32_t) {
    return put(bits, access.board().row.memory_bits);
  });
}

// Invented, both: made of the PCI device's number.
Return nvmlDeviceGetVbiosVersion(Device device, char* version, std::uint32_t size) {
  return on_whole_gpu(device, version != nullptr, [&](GpuAccess& access, std::uint32_t) {
    return put_text(vbios_version(access.board()), version, size);
  });
}
Return nvmlDeviceGetBoardPartNumber(Device device, char* number, std::uint32_t size) {
  return on_whole_gpu(device, number != nullptr, [&](GpuAccess& access, std::uint32_t) {
    return put_text(fmt::format("900-2{:04X}-0000-000", access.board().row.pci_device >> 16U),
                    number, size);
  });
}

}  // namespace cleave::nvml
