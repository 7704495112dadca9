// The part of NvmlDoor that lists, creates and destroys instances. Every call asks for the handles
// of instances again: numbers are reused, and what a handle means after its instance is gone
// depends on the driver.

#include "device/nvml_call.hpp"
#include "device/nvml_door.hpp"

namespace cleave {

namespace {

using enum nvml::Return;

constexpr std::uint32_t compute_profile_numbers_most = 256;

/// The answer for an instance that disappeared while it was read.
bool is_gone(const Refusal& refusal) {
  return refused_with(refusal, {not_found, invalid_argument});
}

DriverComputeProfile compute_profile_from(std::uint32_t number,
                                          const nvml::ComputeInstanceProfileInfo& info) {
  const auto sms = static_cast<int>(std::min(info.multiprocessor_count, 1U << 30));
  return {ProfileNumber{number}, ProfileId{info.id}, info.slice_count, info.instance_count,
          Sms{sms}};
}

/// The answer of a call on a new handle. If the handle is invalid already, the instance may have
/// disappeared: then `ask_again`, which asks for the handle once more, does not find it, or finds
/// another one that was created since with the same number. If the driver refused for another
/// reason, it finds the same.
template <class Handle, class AskAgain>
DriverAnswer<void> of_fresh_handle(Handle used, DriverAnswer<void> done, AskAgain ask_again) {
  if (done || done.error().code != invalid_argument) return done;
  const auto again = ask_again();
  if (again ? *again != used : is_gone(again.error()))
    return std::unexpected(Refusal{not_found, done.error().call});
  return done;
}

/// The room for a list of instances of a profile: the driver needs room for the most there can be,
/// and may need more than it said.
std::uint32_t room_for(std::uint32_t most) {
  return std::min(most, nvml_list_most / 2) + 16;
}

}  // namespace

DriverAnswer<nvml::GpuInstance> NvmlDoor::instance_handle(GpuIndex gpu, GpuInstanceId instance) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  nvml::GpuInstance found = nullptr;
  const auto done = CLEAVE_NVML(nvmlDeviceGetGpuInstanceById)(
      *handle, static_cast<std::uint32_t>(instance), &found);
  if (!done) return gave_up(gpu, done.error());
  return found;
}

DriverAnswer<nvml::ComputeInstance> NvmlDoor::compute_handle(GpuIndex gpu, GpuInstanceId instance,
                                                             ComputeInstanceId compute) {
  const auto inside = instance_handle(gpu, instance);
  if (!inside) return std::unexpected(inside.error());
  nvml::ComputeInstance found = nullptr;
  const auto done = CLEAVE_NVML(nvmlGpuInstanceGetComputeInstanceById)(
      *inside, static_cast<std::uint32_t>(compute), &found);
  if (!done) return std::unexpected(done.error());
  return found;
}

DriverAnswer<LiveGpuInstance> NvmlDoor::described(nvml::GpuInstance instance) {
  nvml::GpuInstanceInfo info{};
  if (const auto done = CLEAVE_NVML(nvmlGpuInstanceGetInfo)(instance, &info); !done)
    return std::unexpected(done.error());
  return LiveGpuInstance{GpuInstanceId{info.id},
                         ProfileId{info.profile_id},
                         {info.placement.start, info.placement.size}};
}

DriverAnswer<LiveComputeInstance> NvmlDoor::described(nvml::ComputeInstance compute) {
  nvml::ComputeInstanceInfo info{};
  if (const auto done = CLEAVE_NVML(nvmlComputeInstanceGetInfo_v2)(compute, &info); !done)
    return std::unexpected(done.error());
  auto id = uuid(info.device);
  if (!id) return std::unexpected(id.error());
  return LiveComputeInstance{ComputeInstanceId{info.id},
                             ProfileId{info.profile_id},
                             {info.placement.start, info.placement.size},
                             std::move(*id)};
}

DriverAnswer<std::vector<LiveGpuInstance>> NvmlDoor::gpu_instances(GpuIndex gpu) {
  const auto mode = mig_mode(gpu);
  if (!mode) return std::unexpected(mode.error());
  if (!mode->current) return std::vector<LiveGpuInstance>{};
  const auto all = profiles(gpu);
  if (!all) return std::unexpected(all.error());
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  std::vector<LiveGpuInstance> instances;
  for (const DriverProfile& profile : *all) {
    const auto list = nvml_list<nvml::GpuInstance>(
        room_for(profile.most), [&](nvml::GpuInstance* found, std::uint32_t* count) {
          return CLEAVE_NVML(nvmlDeviceGetGpuInstances)(
              *handle, static_cast<std::uint32_t>(profile.id), found, count);
        });
    if (!list) return gave_up(gpu, list.error());
    for (const nvml::GpuInstance each : *list) {
      const auto known = described(each);
      if (known) {
        instances.push_back(*known);
      } else if (!is_gone(known.error())) {
        return gave_up(gpu, known.error());
      }
    }
  }
  std::ranges::sort(instances, {}, &LiveGpuInstance::id);
  return instances;
}

DriverAnswer<LiveGpuInstance> NvmlDoor::create_gpu_instance(GpuIndex gpu, ProfileId profile,
                                                            std::optional<Span> placement) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  const auto id = static_cast<std::uint32_t>(profile);
  nvml::GpuInstance made = nullptr;
  DriverAnswer<void> done;
  if (placement) {
    const nvml::GpuInstancePlacement where{placement->start, placement->size};
    done = CLEAVE_NVML(nvmlDeviceCreateGpuInstanceWithPlacement)(*handle, id, &where, &made);
  } else {
    done = CLEAVE_NVML(nvmlDeviceCreateGpuInstance)(*handle, id, &made);
  }
  if (!done) return gave_up(gpu, done.error());
  auto instance = described(made);
  if (!instance) {
    (void)CLEAVE_NVML(nvmlGpuInstanceDestroy)(made);
    return gave_up(gpu, instance.error());
  }
  return instance;
}

DriverAnswer<void> NvmlDoor::destroy_gpu_instance(GpuIndex gpu, GpuInstanceId instance) {
  const auto found = instance_handle(gpu, instance);
  if (!found) return std::unexpected(found.error());
  stop_counting(gpu, instance);  // another may get its number
  return of_fresh_handle(*found, CLEAVE_NVML(nvmlGpuInstanceDestroy)(*found),
                         [&] { return instance_handle(gpu, instance); });
}

DriverAnswer<DriverComputeProfile> NvmlDoor::compute_profile(nvml::GpuInstance instance,
                                                             std::uint32_t number) {
  if (nvml_->nvmlGpuInstanceGetComputeInstanceProfileInfo != nullptr) {
    nvml::ComputeInstanceProfileInfo info{};
    const auto done = CLEAVE_NVML(nvmlGpuInstanceGetComputeInstanceProfileInfo)(
        instance, number, nvml::engines_shared, &info);
    if (!done) return std::unexpected(done.error());
    return compute_profile_from(number, info);
  }
  nvml::ComputeInstanceProfileInfo2 named{};
  named.version = nvml::version_word<nvml::ComputeInstanceProfileInfo2>(2);
  const auto done = CLEAVE_NVML(nvmlGpuInstanceGetComputeInstanceProfileInfoV)(
      instance, number, nvml::engines_shared, &named);
  if (!done) return std::unexpected(done.error());
  return compute_profile_from(number, named.info);
}

DriverAnswer<std::vector<DriverComputeProfile>> NvmlDoor::compute_profiles(GpuIndex gpu,
                                                                           GpuInstanceId instance) {
  const auto inside = instance_handle(gpu, instance);
  if (!inside) return std::unexpected(inside.error());
  std::vector<DriverComputeProfile> profiles;
  for (std::uint32_t number = 0; number < compute_profile_numbers_most; ++number) {
    const auto found = compute_profile(*inside, number);
    if (found) {
      profiles.push_back(*found);
    } else if (found.error().code == invalid_argument) {
      break;
    } else if (found.error().code != not_supported) {
      return std::unexpected(found.error());
    }
  }
  return profiles;
}

DriverAnswer<std::vector<LiveComputeInstance>> NvmlDoor::compute_instances(GpuIndex gpu,
                                                                           GpuInstanceId instance) {
  const auto all = compute_profiles(gpu, instance);
  if (!all) return std::unexpected(all.error());
  const auto inside = instance_handle(gpu, instance);
  if (!inside) return std::unexpected(inside.error());
  std::vector<LiveComputeInstance> computes;
  for (const DriverComputeProfile& profile : *all) {
    const auto list = nvml_list<nvml::ComputeInstance>(
        room_for(profile.most), [&](nvml::ComputeInstance* found, std::uint32_t* count) {
          return of_fresh_handle(*inside,
                                 CLEAVE_NVML(nvmlGpuInstanceGetComputeInstances)(
                                     *inside, static_cast<std::uint32_t>(profile.id), found, count),
                                 [&] { return instance_handle(gpu, instance); });
        });
    if (!list) return std::unexpected(list.error());
    for (const nvml::ComputeInstance each : *list) {
      auto known = described(each);
      if (known) {
        computes.push_back(std::move(*known));
      } else if (!is_gone(known.error())) {
        return std::unexpected(known.error());
      }
    }
  }
  std::ranges::sort(computes, {}, &LiveComputeInstance::id);
  return computes;
}

DriverAnswer<LiveComputeInstance> NvmlDoor::create_compute_instance(GpuIndex gpu,
                                                                    GpuInstanceId instance,
                                                                    ProfileId profile,
                                                                    std::optional<Span> placement) {
  const auto inside = instance_handle(gpu, instance);
  if (!inside) return std::unexpected(inside.error());
  const auto id = static_cast<std::uint32_t>(profile);
  nvml::ComputeInstance made = nullptr;
  DriverAnswer<void> done;
  if (placement) {
    const nvml::ComputeInstancePlacement where{placement->start, placement->size};
    done =
        CLEAVE_NVML(nvmlGpuInstanceCreateComputeInstanceWithPlacement)(*inside, id, &where, &made);
  } else {
    done = CLEAVE_NVML(nvmlGpuInstanceCreateComputeInstance)(*inside, id, &made);
  }
  if (!done) return std::unexpected(done.error());
  auto compute = described(made);
  if (!compute) (void)CLEAVE_NVML(nvmlComputeInstanceDestroy)(made);
  return compute;
}

DriverAnswer<void> NvmlDoor::destroy_compute_instance(GpuIndex gpu, GpuInstanceId instance,
                                                      ComputeInstanceId compute) {
  const auto found = compute_handle(gpu, instance, compute);
  if (!found) return std::unexpected(found.error());
  return of_fresh_handle(*found, CLEAVE_NVML(nvmlComputeInstanceDestroy)(*found),
                         [&] { return compute_handle(gpu, instance, compute); });
}

}  // namespace cleave
