#pragma once
// What the wrappers of a door have in common. Doors that record, replay or inject faults treat all
// calls alike, so that each of them is one function, `through`, behind the same list of calls.

#include <chrono>
#include <expected>
#include <functional>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "device/door.hpp"

namespace cleave {

/// The members of Door that a wrapper passes on; the two called `memory` have names of their own.
enum class DoorCall : std::uint8_t {
  driver,
  gpu_count,
  gpu,
  mig_mode,
  set_mig_mode,
  profiles,
  placements,
  remaining,
  gpu_instances,
  create_gpu_instance,
  destroy_gpu_instance,
  compute_profiles,
  compute_instances,
  create_compute_instance,
  destroy_compute_instance,
  processes,
  gpu_memory,
  instance_memory,
  power_milliwatts,
  power_limit_milliwatts,
  energy_millijoules,
  busy_shares,
  health,
  uncorrected_errors,
  wait_event
};

/// The arguments of a call, those that it takes; numbers are NVML's.
struct DoorArguments {
  std::optional<std::uint32_t> gpu, instance, compute, profile;
  std::optional<Span> placement;
  std::optional<bool> enabled;
  std::optional<std::int64_t> at_most_ms;
  std::optional<Counting> counting;
  friend bool operator==(const DoorArguments&, const DoorArguments&) = default;
};

/// The answer to any call.
using AnyAnswer =
    std::variant<DriverFacts, DriverAnswer<void>, DriverAnswer<std::uint32_t>,
                 DriverAnswer<std::uint64_t>, DriverAnswer<GpuFacts>, DriverAnswer<MigMode>,
                 DriverAnswer<nvml::Return>, DriverAnswer<std::vector<DriverProfile>>,
                 DriverAnswer<std::vector<Span>>, DriverAnswer<std::vector<LiveGpuInstance>>,
                 DriverAnswer<LiveGpuInstance>, DriverAnswer<std::vector<DriverComputeProfile>>,
                 DriverAnswer<std::vector<LiveComputeInstance>>, DriverAnswer<LiveComputeInstance>,
                 DriverAnswer<std::vector<LiveProcess>>, DriverAnswer<MemoryUse>,
                 DriverAnswer<std::optional<BusyShares>>, DriverAnswer<GpuHealth>,
                 DriverAnswer<std::optional<GpuEvent>>>;

/// A door in front of another one.
class WrappedDoor : public Door {
 public:
  DriverFacts driver() override;
  DriverAnswer<std::uint32_t> gpu_count() override;
  DriverAnswer<GpuFacts> gpu(GpuIndex gpu) override;
  DriverAnswer<MigMode> mig_mode(GpuIndex gpu) override;
  DriverAnswer<nvml::Return> set_mig_mode(GpuIndex gpu, bool enabled) override;
  DriverAnswer<std::vector<DriverProfile>> profiles(GpuIndex gpu) override;
  DriverAnswer<std::vector<Span>> placements(GpuIndex gpu, ProfileId profile) override;
  DriverAnswer<std::uint32_t> remaining(GpuIndex gpu, ProfileId profile) override;
  DriverAnswer<std::vector<LiveGpuInstance>> gpu_instances(GpuIndex gpu) override;
  DriverAnswer<LiveGpuInstance> create_gpu_instance(GpuIndex gpu, ProfileId profile,
                                                    std::optional<Span> placement) override;
  DriverAnswer<void> destroy_gpu_instance(GpuIndex gpu, GpuInstanceId instance) override;
  DriverAnswer<std::vector<DriverComputeProfile>> compute_profiles(GpuIndex gpu,
                                                                   GpuInstanceId instance) override;
  DriverAnswer<std::vector<LiveComputeInstance>> compute_instances(GpuIndex gpu,
                                                                   GpuInstanceId instance) override;
  DriverAnswer<LiveComputeInstance> create_compute_instance(GpuIndex gpu, GpuInstanceId instance,
                                                            ProfileId profile,
                                                            std::optional<Span> placement) override;
  DriverAnswer<void> destroy_compute_instance(GpuIndex gpu, GpuInstanceId instance,
                                              ComputeInstanceId compute) override;
  DriverAnswer<std::vector<LiveProcess>> processes(GpuIndex gpu) override;
  DriverAnswer<MemoryUse> memory(GpuIndex gpu) override;
  DriverAnswer<MemoryUse> memory(GpuIndex gpu, GpuInstanceId instance,
                                 ComputeInstanceId compute) override;
  DriverAnswer<std::uint32_t> power_milliwatts(GpuIndex gpu) override;
  DriverAnswer<std::uint32_t> power_limit_milliwatts(GpuIndex gpu) override;
  DriverAnswer<std::uint64_t> energy_millijoules(GpuIndex gpu) override;
  DriverAnswer<std::optional<BusyShares>> busy_shares(GpuIndex gpu,
                                                      std::optional<GpuInstanceId> instance,
                                                      Counting counting) override;
  DriverAnswer<GpuHealth> health(GpuIndex gpu) override;
  DriverAnswer<std::uint64_t> uncorrected_errors(GpuIndex gpu, GpuInstanceId instance,
                                                 ComputeInstanceId compute) override;
  DriverAnswer<std::optional<GpuEvent>> wait_event(std::chrono::milliseconds at_most) override;

 protected:
  /// Makes one call on the door that it is given.
  using Call = std::function<AnyAnswer(Door&)>;
  /// Every call comes through here; the answer is `call`'s or one of the same type. A refusal of
  /// `driver` is an empty answer.
  virtual std::expected<AnyAnswer, Refusal> through(DoorCall which, const DoorArguments& arguments,
                                                    const Call& call) = 0;

 private:
  template <class MakeCall, class... Arguments>
  std::invoke_result_t<MakeCall, Door&> pass(DoorCall which, MakeCall call,
                                             const Arguments&... arguments);
};

}  // namespace cleave
