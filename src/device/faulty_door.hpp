#pragma once
// A door that fails, for tests of what is above it: now and then a call is refused as drivers
// refuse, or comes late, or is done and its answer lost. Seeded: the same calls meet the same
// faults.

#include <functional>
#include <vector>

#include "base/random.hpp"
#include "device/door.hpp"

namespace cleave {

struct DoorFaults {
  std::uint64_t seed = 1;
  double refuse = 0;                        // chance that a call is refused; nothing is done then
  double lose = 0;                          // chance that a call is done and refused all the same
  std::uint64_t spare = 0;                  // so many calls go through first
  double delay = 0;                         // chance that a call comes late
  std::chrono::milliseconds delay_most{0};  // uniform up to this
  std::function<void(std::chrono::milliseconds)> sleep;  // empty: this thread sleeps
};

/// A refusal that drivers give without the caller's doing, a row each.
struct PlausibleRefusal {
  nvml::Return code;
  bool of_reads, of_changes;
};
std::vector<PlausibleRefusal> plausible_refusals();

/// Passes everything on to `door`, which must outlive it, but for the faults. What the library
/// itself says
/// (`driver`) never fails.
class FaultyDoor final : public Door {
 public:
  FaultyDoor(Door& door, DoorFaults faults);

  /// Calls that were refused, or whose answer was lost, so far.
  [[nodiscard]] std::uint64_t failed() const { return failed_; }
  /// From now on there are no faults.
  void mend() { faults_.refuse = faults_.lose = faults_.delay = 0; }

  DriverFacts driver() override;
  DriverAnswer<std::uint32_t> gpu_count() override;
  DriverAnswer<GpuFacts> gpu(GpuIndex gpu) override;
  DriverAnswer<MigMode> mig_mode(GpuIndex gpu) override;
  DriverAnswer<nvml::Return> set_mig_mode(GpuIndex gpu, bool enabled) override;
  DriverAnswer<std::vector<DriverProfile>> profiles(GpuIndex gpu) override;
  DriverAnswer<std::vector<Span>> placements(GpuIndex gpu, ProfileId profile) override;
  DriverAnswer<std::uint32_t> remaining(GpuIndex gpu, ProfileId profile) override;
  DriverAnswer<std::vector<LiveGpuInstance>> gpu_instances(GpuIndex gpu) override;
  DriverAnswer<std::vector<MigDevice>> mig_devices(GpuIndex gpu) override;
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
  DriverAnswer<std::optional<GpuEvent>> wait_event(std::chrono::milliseconds at_most) override;

 private:
  enum class Access { read, change };
  template <class Call>
  auto through(Access access, Call call) -> decltype(call());
  Refusal made_up(Access access);
  void delay();

  Door& door_;
  DoorFaults faults_;
  Random random_, delays_;
  std::uint64_t calls_ = 0, failed_ = 0;
};

}  // namespace cleave
