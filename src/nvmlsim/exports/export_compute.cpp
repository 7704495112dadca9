// Compute instances and their profiles.

#include "base/format.hpp"
#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/operations.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

ComputeInstanceProfileInfo describe_compute(const ProfileFacts& parent,
                                            const ComputeProfile& profile) {
  const auto number = [](int value) { return static_cast<std::uint32_t>(value); };
  const Engines& shared = parent.engines;
  return {profile.number,        profile.slices,      profile.most,
          profile.sms,           number(shared.copy), number(shared.decode),
          number(shared.encode), number(shared.jpeg), number(shared.flow)};
}

/// Finds a profile by NVML's number, which is its id too; says whether the number is beyond all or
/// only unknown to this kind of GPU instance.
Return find_compute_profile(const GpuAccess& access, std::size_t slot, std::uint32_t number,
                            const ComputeProfile*& profile) {
  if (number >= compute_instance_profiles) return invalid_argument;
  profile = compute_profile(access.board(), access.record(), slot, number);
  return profile == nullptr ? not_supported : success;
}

std::string compute_profile_name(const ProfileFacts& parent, const ComputeProfile& profile) {
  return fmt::format("MIG {}", device_profile_name(*parent.profile, profile.slices));
}

ComputeInstance handle_of(std::uint32_t gpu, const ComputeInstanceRecord& compute) {
  return make_handle<ComputeInstance>(HandleKind::compute_instance, gpu, compute.serial);
}

Return create(GpuInstance instance, std::uint32_t profile_id,
              const ComputeInstancePlacement* placement, ComputeInstance* compute) {
  const HandleParts parts = parts_of(instance);
  return with_gpu(parts, [&](const Call& call) {
    if (parts.kind != HandleKind::gpu_instance || compute == nullptr) return invalid_argument;
    std::uint64_t serial = 0;
    const Return answer = create_compute_instance(call.node(), parts.gpu, parts.serial, profile_id,
                                                  placement, serial);
    if (answer == success)
      *compute = make_handle<ComputeInstance>(HandleKind::compute_instance, parts.gpu, serial);
    return answer;
  });
}

}  // namespace

Return nvmlGpuInstanceGetComputeInstanceProfileInfo(GpuInstance instance, std::uint32_t number,
                                                    std::uint32_t engine_profile,
                                                    ComputeInstanceProfileInfo* info) {
  return on_instance(HandleKind::gpu_instance, instance,
                     [&](const Call&, GpuAccess& access, std::uint32_t, std::size_t slot) {
                       if (info == nullptr || engine_profile != engines_shared)
                         return invalid_argument;
                       const ComputeProfile* profile = nullptr;
                       const Return found = find_compute_profile(access, slot, number, profile);
                       if (found != success) return found;
                       const Board& board = access.board();
                       *info = describe_compute(
                           board.profiles[profile_of(board, access.record(), slot)], *profile);
                       return success;
                     });
}

Return nvmlGpuInstanceGetComputeInstanceProfileInfoV(GpuInstance instance, std::uint32_t number,
                                                     std::uint32_t engine_profile,
                                                     ComputeInstanceProfileInfo2* info) {
  return on_instance(
      HandleKind::gpu_instance, instance,
      [&](const Call&, GpuAccess& access, std::uint32_t, std::size_t slot) {
        if (info == nullptr || engine_profile != engines_shared) return invalid_argument;
        const bool third = info->version == version_word<ComputeInstanceProfileInfo3>(3);
        if (!third && info->version != version_word<ComputeInstanceProfileInfo2>(2))
          return invalid_argument;
        const ComputeProfile* profile = nullptr;
        const Return found = find_compute_profile(access, slot, number, profile);
        if (found != success) return found;
        const Board& board = access.board();
        const ProfileFacts& parent = board.profiles[profile_of(board, access.record(), slot)];
        info->info = describe_compute(parent, *profile);
        put_name(compute_profile_name(parent, *profile), info->name);
        if (!third) return success;
        const std::uint32_t graphics = parent.profile->attribute == Attribute::graphics ? 1 : 0;
        std::memcpy(
            reinterpret_cast<char*>(info) + offsetof(ComputeInstanceProfileInfo3, capabilities),
            &graphics, sizeof graphics);
        return success;
      });
}

Return nvmlGpuInstanceGetComputeInstanceRemainingCapacity(GpuInstance instance,
                                                          std::uint32_t profile_id,
                                                          std::uint32_t* count) {
  return on_instance_privileged(
      instance, [&](const Call&, GpuAccess& access, std::uint32_t, std::size_t slot) {
        if (count == nullptr) return invalid_argument;
        const ComputeProfile* profile = nullptr;
        const Return found = find_compute_profile(access, slot, profile_id, profile);
        if (found != success) return found;
        return put(count, compute_room_for(access.board(), access.record(), slot, *profile));
      });
}

Return nvmlGpuInstanceGetComputeInstancePossiblePlacements(GpuInstance instance,
                                                           std::uint32_t profile_id,
                                                           ComputeInstancePlacement* placements,
                                                           std::uint32_t* count) {
  return on_instance_privileged(
      instance, [&](const Call&, GpuAccess& access, std::uint32_t, std::size_t slot) {
        if (count == nullptr) return invalid_argument;
        const ComputeProfile* profile = nullptr;
        const Return found = find_compute_profile(access, slot, profile_id, profile);
        if (found != success) return found;
        std::uint32_t written = 0;
        for (const std::uint32_t start : profile->starts) {
          if (placements != nullptr) placements[written] = {start, profile->slices};
          ++written;
        }
        *count = written;
        return success;
      });
}

Return nvmlGpuInstanceCreateComputeInstance(GpuInstance instance, std::uint32_t profile_id,
                                            ComputeInstance* compute) {
  return create(instance, profile_id, nullptr, compute);
}
Return nvmlGpuInstanceCreateComputeInstanceWithPlacement(GpuInstance instance,
                                                         std::uint32_t profile_id,
                                                         const ComputeInstancePlacement* placement,
                                                         ComputeInstance* compute) {
  if (placement == nullptr) return wrong_argument();
  return create(instance, profile_id, placement, compute);
}

Return nvmlComputeInstanceDestroy(ComputeInstance compute) {
  const HandleParts parts = parts_of(compute);
  return with_gpu(parts, [&](const Call& call) {
    if (parts.kind != HandleKind::compute_instance) return invalid_argument;
    return destroy_compute_instance(call.node(), parts.gpu, parts.serial);
  });
}

Return nvmlGpuInstanceGetComputeInstances(GpuInstance instance, std::uint32_t profile_id,
                                          ComputeInstance* computes, std::uint32_t* count) {
  return on_instance_privileged(
      instance, [&](const Call&, GpuAccess& access, std::uint32_t gpu, std::size_t slot) {
        if (count == nullptr || computes == nullptr) return invalid_argument;
        const ComputeProfile* profile = nullptr;
        const Return found = find_compute_profile(access, slot, profile_id, profile);
        if (found != success) return found;
        std::uint32_t written = 0;
        for (const ComputeInstanceRecord& each : access.record().compute_instances)
          if (each.serial != 0 && each.gpu_instance == slot && each.profile == profile_id &&
              written < profile->most)
            computes[written++] = handle_of(gpu, each);
        *count = written;
        return success;
      });
}

Return nvmlGpuInstanceGetComputeInstanceById(GpuInstance instance, std::uint32_t id,
                                             ComputeInstance* compute) {
  return on_instance_privileged(
      instance, [&](const Call&, GpuAccess& access, std::uint32_t gpu, std::size_t slot) {
        if (compute == nullptr) return invalid_argument;
        for (const ComputeInstanceRecord& each : access.record().compute_instances)
          if (each.serial != 0 && each.gpu_instance == slot && each.id == id)
            return put(compute, handle_of(gpu, each));
        return not_found;
      });
}

Return nvmlComputeInstanceGetInfo_v2(ComputeInstance compute, ComputeInstanceInfo* info) {
  return on_instance(
      HandleKind::compute_instance, compute,
      [&](const Call& call, GpuAccess& access, std::uint32_t gpu, std::size_t slot) {
        if (info == nullptr) return invalid_argument;
        const ComputeInstanceRecord& record = access.record().compute_instances[slot];
        const GpuInstanceRecord& parent =
            access.record().gpu_instances[record.gpu_instance % instance_slots];
        info->device = make_handle<Device>(HandleKind::mig_device, gpu, record.serial);
        info->gpu_instance = make_handle<GpuInstance>(HandleKind::gpu_instance, gpu, parent.serial);
        info->id = record.id;
        info->profile_id = record.profile;
        info->placement = {record.start, record.slices};
        call.hold(gpu, slot);
        return success;
      });
}
Return nvmlComputeInstanceGetInfo(ComputeInstance compute, ComputeInstanceInfo* info) {
  return nvmlComputeInstanceGetInfo_v2(compute, info);
}

}  // namespace cleave::nvml
