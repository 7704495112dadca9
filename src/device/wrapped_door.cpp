#include "device/wrapped_door.hpp"

namespace cleave {

namespace {

/// The arguments of a call, by their types, no two of which are the same.
template <class... Arguments>
DoorArguments arguments_of(const Arguments&... arguments) {
  DoorArguments all;
  const auto number = [](auto id) { return static_cast<std::uint32_t>(id); };
  [[maybe_unused]] const auto put = [&]<class T>(const T& argument) {
    if constexpr (std::is_same_v<T, GpuIndex>) {
      all.gpu = number(argument);
    } else if constexpr (std::is_same_v<T, GpuInstanceId>) {
      all.instance = number(argument);
    } else if constexpr (std::is_same_v<T, std::optional<GpuInstanceId>>) {
      if (argument) all.instance = number(*argument);
    } else if constexpr (std::is_same_v<T, Counting>) {
      all.counting = argument;
    } else if constexpr (std::is_same_v<T, ComputeInstanceId>) {
      all.compute = number(argument);
    } else if constexpr (std::is_same_v<T, ProfileId>) {
      all.profile = number(argument);
    } else if constexpr (std::is_same_v<T, std::optional<Span>>) {
      all.placement = argument;
    } else if constexpr (std::is_same_v<T, bool>) {
      all.enabled = argument;
    } else {
      static_assert(std::is_same_v<T, std::chrono::milliseconds>);
      all.at_most_ms = argument.count();
    }
  };
  (put(arguments), ...);
  return all;
}

}  // namespace

template <class MakeCall, class... Arguments>
std::invoke_result_t<MakeCall, Door&> WrappedDoor::pass(DoorCall which, MakeCall call,
                                                        const Arguments&... arguments) {
  using Answer = std::invoke_result_t<MakeCall, Door&>;
  auto answer =
      through(which, arguments_of(arguments...), [&](Door& door) { return AnyAnswer(call(door)); });
  if (answer) return std::get<Answer>(std::move(*answer));
  if constexpr (std::is_same_v<Answer, DriverFacts>) {
    return {};
  } else {
    return std::unexpected(std::move(answer.error()));
  }
}

DriverFacts WrappedDoor::driver() {
  return pass(DoorCall::driver, [](Door& door) { return door.driver(); });
}

DriverAnswer<std::uint32_t> WrappedDoor::gpu_count() {
  return pass(DoorCall::gpu_count, [](Door& door) { return door.gpu_count(); });
}

DriverAnswer<GpuFacts> WrappedDoor::gpu(GpuIndex gpu) {
  return pass(
      DoorCall::gpu, [&](Door& door) { return door.gpu(gpu); }, gpu);
}

DriverAnswer<MigMode> WrappedDoor::mig_mode(GpuIndex gpu) {
  return pass(
      DoorCall::mig_mode, [&](Door& door) { return door.mig_mode(gpu); }, gpu);
}

DriverAnswer<nvml::Return> WrappedDoor::set_mig_mode(GpuIndex gpu, bool enabled) {
  const auto call = [&](Door& door) { return door.set_mig_mode(gpu, enabled); };
  return pass(DoorCall::set_mig_mode, call, gpu, enabled);
}

DriverAnswer<std::vector<DriverProfile>> WrappedDoor::profiles(GpuIndex gpu) {
  return pass(
      DoorCall::profiles, [&](Door& door) { return door.profiles(gpu); }, gpu);
}

DriverAnswer<std::vector<Span>> WrappedDoor::placements(GpuIndex gpu, ProfileId profile) {
  const auto call = [&](Door& door) { return door.placements(gpu, profile); };
  return pass(DoorCall::placements, call, gpu, profile);
}

DriverAnswer<std::uint32_t> WrappedDoor::remaining(GpuIndex gpu, ProfileId profile) {
  const auto call = [&](Door& door) { return door.remaining(gpu, profile); };
  return pass(DoorCall::remaining, call, gpu, profile);
}

DriverAnswer<std::vector<LiveGpuInstance>> WrappedDoor::gpu_instances(GpuIndex gpu) {
  return pass(
      DoorCall::gpu_instances, [&](Door& door) { return door.gpu_instances(gpu); }, gpu);
}

DriverAnswer<LiveGpuInstance> WrappedDoor::create_gpu_instance(GpuIndex gpu, ProfileId profile,
                                                               std::optional<Span> placement) {
  const auto call = [&](Door& door) { return door.create_gpu_instance(gpu, profile, placement); };
  return pass(DoorCall::create_gpu_instance, call, gpu, profile, placement);
}

DriverAnswer<void> WrappedDoor::destroy_gpu_instance(GpuIndex gpu, GpuInstanceId instance) {
  const auto call = [&](Door& door) { return door.destroy_gpu_instance(gpu, instance); };
  return pass(DoorCall::destroy_gpu_instance, call, gpu, instance);
}

DriverAnswer<std::vector<DriverComputeProfile>> WrappedDoor::compute_profiles(
    GpuIndex gpu, GpuInstanceId instance) {
  const auto call = [&](Door& door) { return door.compute_profiles(gpu, instance); };
  return pass(DoorCall::compute_profiles, call, gpu, instance);
}

DriverAnswer<std::vector<LiveComputeInstance>> WrappedDoor::compute_instances(
    GpuIndex gpu, GpuInstanceId instance) {
  const auto call = [&](Door& door) { return door.compute_instances(gpu, instance); };
  return pass(DoorCall::compute_instances, call, gpu, instance);
}

DriverAnswer<LiveComputeInstance> WrappedDoor::create_compute_instance(
    GpuIndex gpu, GpuInstanceId instance, ProfileId profile, std::optional<Span> placement) {
  const auto call = [&](Door& door) {
    return door.create_compute_instance(gpu, instance, profile, placement);
  };
  return pass(DoorCall::create_compute_instance, call, gpu, instance, profile, placement);
}

DriverAnswer<void> WrappedDoor::destroy_compute_instance(GpuIndex gpu, GpuInstanceId instance,
                                                         ComputeInstanceId compute) {
  const auto call = [&](Door& door) {
    return door.destroy_compute_instance(gpu, instance, compute);
  };
  return pass(DoorCall::destroy_compute_instance, call, gpu, instance, compute);
}

DriverAnswer<std::vector<LiveProcess>> WrappedDoor::processes(GpuIndex gpu) {
  return pass(
      DoorCall::processes, [&](Door& door) { return door.processes(gpu); }, gpu);
}

DriverAnswer<MemoryUse> WrappedDoor::memory(GpuIndex gpu) {
  return pass(
      DoorCall::gpu_memory, [&](Door& door) { return door.memory(gpu); }, gpu);
}

DriverAnswer<MemoryUse> WrappedDoor::memory(GpuIndex gpu, GpuInstanceId instance,
                                            ComputeInstanceId compute) {
  const auto call = [&](Door& door) { return door.memory(gpu, instance, compute); };
  return pass(DoorCall::instance_memory, call, gpu, instance, compute);
}

DriverAnswer<std::uint32_t> WrappedDoor::power_milliwatts(GpuIndex gpu) {
  const auto call = [&](Door& door) { return door.power_milliwatts(gpu); };
  return pass(DoorCall::power_milliwatts, call, gpu);
}

DriverAnswer<std::uint32_t> WrappedDoor::power_limit_milliwatts(GpuIndex gpu) {
  const auto call = [&](Door& door) { return door.power_limit_milliwatts(gpu); };
  return pass(DoorCall::power_limit_milliwatts, call, gpu);
}

DriverAnswer<std::uint64_t> WrappedDoor::energy_millijoules(GpuIndex gpu) {
  const auto call = [&](Door& door) { return door.energy_millijoules(gpu); };
  return pass(DoorCall::energy_millijoules, call, gpu);
}

DriverAnswer<std::optional<BusyShares>> WrappedDoor::busy_shares(
    GpuIndex gpu, std::optional<GpuInstanceId> instance, Counting counting) {
  const auto call = [&](Door& door) { return door.busy_shares(gpu, instance, counting); };
  return pass(DoorCall::busy_shares, call, gpu, instance, counting);
}

DriverAnswer<GpuHealth> WrappedDoor::health(GpuIndex gpu) {
  return pass(
      DoorCall::health, [&](Door& door) { return door.health(gpu); }, gpu);
}

DriverAnswer<std::uint64_t> WrappedDoor::uncorrected_errors(GpuIndex gpu, GpuInstanceId instance,
                                                            ComputeInstanceId compute) {
  const auto call = [&](Door& door) { return door.uncorrected_errors(gpu, instance, compute); };
  return pass(DoorCall::uncorrected_errors, call, gpu, instance, compute);
}

DriverAnswer<std::optional<GpuEvent>> WrappedDoor::wait_event(std::chrono::milliseconds at_most) {
  const auto call = [&](Door& door) { return door.wait_event(at_most); };
  return pass(DoorCall::wait_event, call, at_most);
}

}  // namespace cleave
