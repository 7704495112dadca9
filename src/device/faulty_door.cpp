#include "device/faulty_door.hpp"

#include <algorithm>
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

template <class MakeCall>
std::invoke_result_t<MakeCall> FaultyDoor::with_faults(Access access, MakeCall call) {
  if (calls_++ < faults_.spare) return call();
  // Both numbers are drawn in every call, so that one fault does not move the others.
  const double late = random_.uniform(), fate = random_.uniform();
  if (late < faults_.delay) delay();
  if (fate < faults_.refuse) return std::unexpected(made_up(access));
  auto answer = call();
  if (fate < faults_.refuse + faults_.lose) return std::unexpected(made_up(access));
  return answer;
}

std::expected<AnyAnswer, Refusal> FaultyDoor::through(DoorCall which, const DoorArguments&,
                                                      const Call& call) {
  using enum DoorCall;
  constexpr auto changes = std::to_array({set_mig_mode, create_gpu_instance, destroy_gpu_instance,
                                          create_compute_instance, destroy_compute_instance});
  if (which == DoorCall::driver) return call(door_);
  const bool change = std::ranges::find(changes, which) != changes.end();
  return with_faults(change ? Access::change : Access::read,
                     [&]() -> std::expected<AnyAnswer, Refusal> { return call(door_); });
}

DriverAnswer<std::vector<MigDevice>> FaultyDoor::mig_devices(GpuIndex gpu) {
  return with_faults(Access::read, [&] { return door_.mig_devices(gpu); });
}

}  // namespace cleave
