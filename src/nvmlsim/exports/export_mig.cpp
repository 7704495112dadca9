// MIG mode, profiles of GPU instances and GPU instances.

#include "base/format.hpp"
#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/operations.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

constexpr std::uint32_t capability_p2p = 1, capability_graphics = 2;

/// Profile numbers that the driver knows: one fewer than the header of API version 13. Measured on
/// an H100 80GB HBM3, driver 580.159.04, MIG off.
constexpr std::uint32_t known_numbers = 17;
static_assert(known_numbers <= gpu_instance_profiles);

/// Whether a profile number or id is one of this GPU, of another GPU, or of none.
Return find_profile(const Board& board, std::uint32_t number, std::size_t& profile) {
  if (number >= known_numbers) return invalid_argument;
  for (profile = 0; profile < board.profiles.size(); ++profile)
    if (static_cast<std::uint32_t>(board.profiles[profile].profile->nvml_profile) == number)
      return success;
  return not_supported;
}
Return find_profile_id(const Board& board, std::uint32_t id, std::size_t& profile) {
  const auto found = profile_by_id(board, id);
  profile = found.value_or(0);
  if (found) return success;
  return known_profile_id(id) ? not_supported : invalid_argument;
}

GpuInstanceProfileInfo describe(const ProfileFacts& facts) {
  const auto number = [](int value) { return static_cast<std::uint32_t>(value); };
  GpuInstanceProfileInfo info{};
  info.id = facts.id;
  info.slice_count = number(facts.profile->compute.value);
  info.instance_count = number(facts.profile->max_instances);
  info.multiprocessor_count = facts.sms;
  info.copy_engine_count = number(facts.engines.copy);
  info.decoder_count = number(facts.engines.decode);
  info.encoder_count = number(facts.engines.encode);
  info.jpeg_count = number(facts.engines.jpeg);
  info.ofa_count = number(facts.engines.flow);
  info.memory_size_mb = facts.memory_mib;
  return info;
}

/// nvidia-smi prints the names as NVML has them, "MIG 1g.5gb".
std::string driver_profile_name(const ProfileFacts& facts) {
  return fmt::format("MIG {}", facts.profile->name);
}

/// Whether the version word is one of the second or third version, which have one size.
bool known_version(const GpuInstanceProfileInfo2& place) {
  return place.version == version_word<GpuInstanceProfileInfo2>(2) ||
         place.version == version_word<GpuInstanceProfileInfo3>(3);
}

/// Fills in the second or third version of the structure, by the caller's version word. The third
/// has no name: measured on an H100 80GB HBM3, driver 580.159.04, MIG off.
Return put_versioned(const ProfileFacts& facts, GpuInstanceProfileInfo2* place) {
  const GpuInstanceProfileInfo info = describe(facts);
  if (place->version == version_word<GpuInstanceProfileInfo2>(2)) {
    *place = {place->version,
              info.id,
              info.is_p2p_supported,
              info.slice_count,
              info.instance_count,
              info.multiprocessor_count,
              info.copy_engine_count,
              info.decoder_count,
              info.encoder_count,
              info.jpeg_count,
              info.ofa_count,
              info.memory_size_mb,
              {}};
    put_name(driver_profile_name(facts), place->name);
    return success;
  }
  const bool graphics = facts.profile->attribute == Attribute::graphics;
  GpuInstanceProfileInfo3 third{
      place->version,
      info.id,
      info.slice_count,
      info.instance_count,
      info.multiprocessor_count,
      info.copy_engine_count,
      info.decoder_count,
      info.encoder_count,
      info.jpeg_count,
      info.ofa_count,
      info.memory_size_mb,
      {},
      (info.is_p2p_supported != 0 ? capability_p2p : 0) | (graphics ? capability_graphics : 0)};
  static_assert(sizeof third == sizeof *place);
  std::memcpy(static_cast<void*>(place), &third, sizeof third);
  return success;
}

GpuInstance handle_of(std::uint32_t gpu, const GpuInstanceRecord& instance) {
  return make_handle<GpuInstance>(HandleKind::gpu_instance, gpu, instance.serial);
}

Return need_mig(const GpuAccess& access) {
  return access.record().mig_enabled != 0 ? success : not_supported;
}

Return create(Device device, std::uint32_t profile_id, const GpuInstancePlacement* placement,
              GpuInstance* instance) {
  const HandleParts parts = parts_of(device);
  return with_gpu(parts, [&](const Call& call) {
    if (parts.kind != HandleKind::gpu || instance == nullptr) return invalid_argument;
    std::uint64_t serial = 0;
    const Return answer =
        create_gpu_instance(call.node(), parts.gpu, profile_id, placement, serial);
    if (answer == success)
      *instance = make_handle<GpuInstance>(HandleKind::gpu_instance, parts.gpu, serial);
    return answer;
  });
}

}  // namespace

Return nvmlDeviceSetMigMode(Device device, std::uint32_t mode, Return* activation) {
  const HandleParts parts = parts_of(device);
  return with_gpu(parts, [&](const Call& call) {
    if (parts.kind != HandleKind::gpu || activation == nullptr) return invalid_argument;
    return set_mig_mode(call.node(), parts.gpu, mode, *activation);
  });
}

Return nvmlDeviceGetMigMode(Device device, std::uint32_t* current, std::uint32_t* pending) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    if (current == nullptr || pending == nullptr) return invalid_argument;
    *current = access.record().mig_enabled;
    *pending = access.record().mig_wanted;
    return success;
  });
}

Return nvmlDeviceGetGpuInstanceProfileInfo(Device device, std::uint32_t number,
                                           GpuInstanceProfileInfo* info) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    if (info == nullptr) return invalid_argument;
    std::size_t profile = 0;
    const Return found = find_profile(access.board(), number, profile);
    if (found == success) *info = describe(access.board().profiles[profile]);
    return found;
  });
}

Return nvmlDeviceGetGpuInstanceProfileInfoV(Device device, std::uint32_t number,
                                            GpuInstanceProfileInfo2* info) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    if (info == nullptr || !known_version(*info)) return invalid_argument;
    std::size_t profile = 0;
    const Return found = find_profile(access.board(), number, profile);
    return found == success ? put_versioned(access.board().profiles[profile], info) : found;
  });
}

Return nvmlDeviceGetGpuInstanceProfileInfoByIdV(Device device, std::uint32_t profile_id,
                                                GpuInstanceProfileInfo2* info) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    if (info == nullptr || !known_version(*info)) return invalid_argument;
    std::size_t profile = 0;
    const Return found = find_profile_id(access.board(), profile_id, profile);
    return found == success ? put_versioned(access.board().profiles[profile], info) : found;
  });
}

Return nvmlDeviceGetGpuInstancePossiblePlacements_v2(Device device, std::uint32_t profile_id,
                                                     GpuInstancePlacement* placements,
                                                     std::uint32_t* count) {
  return on_gpu_privileged(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    if (count == nullptr) return invalid_argument;
    std::size_t profile = 0;
    if (const Return found = find_profile_id(access.board(), profile_id, profile); found != success)
      return found;
    const Geometry& geometry = access.board().geometry;
    std::uint32_t written = 0;
    for (const PlacementId id : geometry.of_profile(static_cast<int>(profile))) {
      if (placements != nullptr)
        placements[written] = {static_cast<std::uint32_t>(geometry[id].start),
                               static_cast<std::uint32_t>(geometry[id].profile->memory.value)};
      ++written;
    }
    *count = written;
    return success;
  });
}
/// The older function knows no profiles with media engines of their own: measured on an H100 80GB
/// HBM3, driver 580.159.04, MIG off; of other attributes it is assumed.
Return nvmlDeviceGetGpuInstancePossiblePlacements(Device device, std::uint32_t profile_id,
                                                  GpuInstancePlacement* placements,
                                                  std::uint32_t* count) {
  const Return known =
      on_gpu_privileged(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
        if (count == nullptr) return invalid_argument;
        const auto profile = profile_by_id(access.board(), profile_id);
        const bool newer =
            profile && access.board().profiles[*profile].profile->attribute != Attribute::none;
        return newer ? not_supported : success;
      });
  if (known != success) return known;
  return nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, profile_id, placements, count);
}

/// With MIG off too, where it is as many as the GPU can have (seen on an H200, driver 580.159.04).
Return nvmlDeviceGetGpuInstanceRemainingCapacity(Device device, std::uint32_t profile_id,
                                                 std::uint32_t* count) {
  return on_gpu_privileged(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    if (count == nullptr) return invalid_argument;
    std::size_t profile = 0;
    const Return found = find_profile_id(access.board(), profile_id, profile);
    return found == success ? put(count, room_for(access.board(), access.record(), profile))
                            : found;
  });
}

Return nvmlDeviceCreateGpuInstance(Device device, std::uint32_t profile_id, GpuInstance* instance) {
  return create(device, profile_id, nullptr, instance);
}
Return nvmlDeviceCreateGpuInstanceWithPlacement(Device device, std::uint32_t profile_id,
                                                const GpuInstancePlacement* placement,
                                                GpuInstance* instance) {
  if (placement == nullptr) return wrong_argument();
  return create(device, profile_id, placement, instance);
}

Return nvmlGpuInstanceDestroy(GpuInstance instance) {
  const HandleParts parts = parts_of(instance);
  return with_gpu(parts, [&](const Call& call) {
    if (parts.kind != HandleKind::gpu_instance) return invalid_argument;
    return destroy_gpu_instance(call.node(), parts.gpu, parts.serial);
  });
}

/// With MIG off too, where there are none: measured on an H100 80GB HBM3, driver 580.159.04.
Return nvmlDeviceGetGpuInstances(Device device, std::uint32_t profile_id, GpuInstance* instances,
                                 std::uint32_t* count) {
  return on_gpu_privileged(device, [&](const Call&, GpuAccess& access, std::uint32_t gpu) {
    if (count == nullptr || instances == nullptr) return invalid_argument;
    std::size_t profile = 0;
    if (const Return found = find_profile_id(access.board(), profile_id, profile); found != success)
      return found;
    // Callers have room for as many as the profile allows; a damaged record may have more.
    const auto most =
        static_cast<std::uint32_t>(access.board().profiles[profile].profile->max_instances);
    std::uint32_t written = 0;
    for (std::size_t slot = 0; slot < instance_slots && written < most; ++slot) {
      const GpuInstanceRecord& instance = access.record().gpu_instances[slot];
      if (instance.serial == 0 || profile_of(access.board(), access.record(), slot) != profile)
        continue;
      instances[written++] = handle_of(gpu, instance);
    }
    *count = written;
    return success;
  });
}

Return nvmlDeviceGetGpuInstanceById(Device device, std::uint32_t id, GpuInstance* instance) {
  return on_gpu_privileged(device, [&](const Call& call, GpuAccess& access, std::uint32_t gpu) {
    if (instance == nullptr) return invalid_argument;
    if (const Return mig = need_mig(access); mig != success) return mig;
    for (const GpuInstanceRecord& each : access.record().gpu_instances) {
      if (each.serial == 0 || each.placement >= access.board().geometry.size() ||
          gpu_instance_id(access.board(), each.placement, call.node().numbering()) != id)
        continue;
      *instance = handle_of(gpu, each);
      return success;
    }
    return not_found;
  });
}

Return nvmlGpuInstanceGetInfo(GpuInstance instance, GpuInstanceInfo* info) {
  return on_instance(HandleKind::gpu_instance, instance,
                     [&](const Call& call, GpuAccess& access, std::uint32_t gpu, std::size_t slot) {
                       if (info == nullptr) return invalid_argument;
                       const Board& board = access.board();
                       const Placement& place = placement_of(board, access.record(), slot);
                       const auto placement = access.record().gpu_instances[slot].placement;
                       info->device = gpu_handle(gpu);
                       info->id = gpu_instance_id(board, placement, call.node().numbering());
                       info->profile_id =
                           board.profiles[profile_of(board, access.record(), slot)].id;
                       info->placement = {static_cast<std::uint32_t>(place.start),
                                          static_cast<std::uint32_t>(place.profile->memory.value)};
                       return success;
                     });
}

}  // namespace cleave::nvml
