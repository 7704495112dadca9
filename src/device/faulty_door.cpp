#include "device/faulty_door.hpp"

#include <array>
#include <thread>

namespace cleave {

namespace {

constexpr auto refusals = std::to_array<PlausibleRefusal>({
    {nvml::Return::unknown, true, true},
    {nvml::Return::timeout, true, true},
    {nvml::Return::not_ready, true, true},
    {nvml::Return::memory, true, true},
    {nvml::Return::no_data, true, false},
    {nvml::Return::in_use, false, true},
    {nvml::Return::insufficient_resources, false, true},
    {nvml::Return::invalid_state, false, true},
    {nvml::Return::no_permission, false, true},
});

}  // namespace

std::vector<PlausibleRefusal> plausible_refusals() {
  return {refusals.begin(), refusals.end()};
}

FaultyDoor::FaultyDoor(Door& door, DoorFaults faults)
    : door_(door), faults_(std::move(faults)), random_(faults_.seed), delays_(~faults_.seed) {}

Refusal FaultyDoor::made_up(Access access) {
  ++failed_;
  for (;;) {
    const auto& [code, of_reads, of_changes] = refusals[random_.below(refusals.size())];
    if (access == Access::read ? of_reads : of_changes) return {code, "a fault on purpose"};
  }
}

void FaultyDoor::delay() {
  const auto most =
      static_cast<std::uint64_t>(std::max<std::int64_t>(faults_.delay_most.count(), 0));
  const std::chrono::milliseconds wait{static_cast<std::int64_t>(delays_.below(most + 1))};
  if (faults_.sleep) {
    faults_.sleep(wait);
  } else {
    std::this_thread::sleep_for(wait);
  }
}

template <class Call>
auto FaultyDoor::through(Access access, Call call) -> decltype(call()) {
  if (calls_++ < faults_.spare) return call();
  // Both draws in every call: what one fault does moves none of the others.
  const double late = random_.uniform(), fate = random_.uniform();
  if (late < faults_.delay) delay();
  if (fate < faults_.refuse) return std::unexpected(made_up(access));
  auto answer = call();
  if (fate < faults_.refuse + faults_.lose) return std::unexpected(made_up(access));
  return answer;
}

DriverFacts FaultyDoor::driver() {
  return door_.driver();
}

DriverAnswer<std::uint32_t> FaultyDoor::gpu_count() {
  return through(Access::read, [&] { return door_.gpu_count(); });
}

DriverAnswer<GpuFacts> FaultyDoor::gpu(GpuIndex gpu) {
  return through(Access::read, [&] { return door_.gpu(gpu); });
}

DriverAnswer<MigMode> FaultyDoor::mig_mode(GpuIndex gpu) {
  return through(Access::read, [&] { return door_.mig_mode(gpu); });
}

DriverAnswer<nvml::Return> FaultyDoor::set_mig_mode(GpuIndex gpu, bool enabled) {
  return through(Access::change, [&] { return door_.set_mig_mode(gpu, enabled); });
}

DriverAnswer<std::vector<DriverProfile>> FaultyDoor::profiles(GpuIndex gpu) {
  return through(Access::read, [&] { return door_.profiles(gpu); });
}

DriverAnswer<std::vector<Span>> FaultyDoor::placements(GpuIndex gpu, ProfileId profile) {
  return through(Access::read, [&] { return door_.placements(gpu, profile); });
}

DriverAnswer<std::uint32_t> FaultyDoor::remaining(GpuIndex gpu, ProfileId profile) {
  return through(Access::read, [&] { return door_.remaining(gpu, profile); });
}

DriverAnswer<std::vector<LiveGpuInstance>> FaultyDoor::gpu_instances(GpuIndex gpu) {
  return through(Access::read, [&] { return door_.gpu_instances(gpu); });
}

DriverAnswer<std::vector<MigDevice>> FaultyDoor::mig_devices(GpuIndex gpu) {
  return through(Access::read, [&] { return door_.mig_devices(gpu); });
}

DriverAnswer<LiveGpuInstance> FaultyDoor::create_gpu_instance(GpuIndex gpu, ProfileId profile,
                                                              std::optional<Span> placement) {
  return through(Access::change,
                 [&] { return door_.create_gpu_instance(gpu, profile, placement); });
}

DriverAnswer<void> FaultyDoor::destroy_gpu_instance(GpuIndex gpu, GpuInstanceId instance) {
  return through(Access::change, [&] { return door_.destroy_gpu_instance(gpu, instance); });
}

DriverAnswer<std::vector<DriverComputeProfile>> FaultyDoor::compute_profiles(
    GpuIndex gpu, GpuInstanceId instance) {
  return through(Access::read, [&] { return door_.compute_profiles(gpu, instance); });
}

DriverAnswer<std::vector<LiveComputeInstance>> FaultyDoor::compute_instances(
    GpuIndex gpu, GpuInstanceId instance) {
  return through(Access::read, [&] { return door_.compute_instances(gpu, instance); });
}

DriverAnswer<LiveComputeInstance> FaultyDoor::create_compute_instance(
    GpuIndex gpu, GpuInstanceId instance, ProfileId profile, std::optional<Span> placement) {
  return through(Access::change,
                 [&] { return door_.create_compute_instance(gpu, instance, profile, placement); });
}

DriverAnswer<void> FaultyDoor::destroy_compute_instance(GpuIndex gpu, GpuInstanceId instance,
                                                        ComputeInstanceId compute) {
  return through(Access::change,
                 [&] { return door_.destroy_compute_instance(gpu, instance, compute); });
}

DriverAnswer<std::vector<LiveProcess>> FaultyDoor::processes(GpuIndex gpu) {
  return through(Access::read, [&] { return door_.processes(gpu); });
}

DriverAnswer<MemoryUse> FaultyDoor::memory(GpuIndex gpu) {
  return through(Access::read, [&] { return door_.memory(gpu); });
}

DriverAnswer<MemoryUse> FaultyDoor::memory(GpuIndex gpu, GpuInstanceId instance,
                                           ComputeInstanceId compute) {
  return through(Access::read, [&] { return door_.memory(gpu, instance, compute); });
}

DriverAnswer<std::uint32_t> FaultyDoor::power_milliwatts(GpuIndex gpu) {
  return through(Access::read, [&] { return door_.power_milliwatts(gpu); });
}

DriverAnswer<std::uint32_t> FaultyDoor::power_limit_milliwatts(GpuIndex gpu) {
  return through(Access::read, [&] { return door_.power_limit_milliwatts(gpu); });
}

DriverAnswer<std::uint64_t> FaultyDoor::energy_millijoules(GpuIndex gpu) {
  return through(Access::read, [&] { return door_.energy_millijoules(gpu); });
}

DriverAnswer<std::optional<GpuEvent>> FaultyDoor::wait_event(std::chrono::milliseconds at_most) {
  return through(Access::read, [&] { return door_.wait_event(at_most); });
}

}  // namespace cleave
