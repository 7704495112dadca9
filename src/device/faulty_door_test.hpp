#pragma once
// A door that fails, for tests of its users: some calls are refused as drivers refuse them, some
// are delayed, and some are carried out but reported as refused. Seeded: the same calls meet the
// same faults.

#include <algorithm>
#include <array>
#include <functional>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/random.hpp"
#include "device/wrapped_door.hpp"

namespace cleave {

/// How often a FaultyDoor fails, and in which ways.
struct DoorFaults {
  std::uint64_t seed = 1;
  double refuse = 0;                        // chance that a call is refused and not carried out
  double lose = 0;                          // chance that a call is carried out, yet refused
  std::uint64_t spare = 0;                  // the number of calls that pass first
  double delay = 0;                         // chance that a call is delayed
  std::chrono::milliseconds delay_most{0};  // uniform up to this
  std::function<void(std::chrono::milliseconds)> sleep;  // empty: this thread sleeps
};

/// A refusal that drivers give without a mistake of the caller, and to which calls.
struct PlausibleRefusal {
  nvml::Return code;
  bool of_reads, of_changes;
};
inline constexpr auto plausible_refusals = std::to_array<PlausibleRefusal>({
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

/// Passes all calls on to `door`, which must outlive it, except those that fail. `driver` never
/// fails.
class FaultyDoor final : public WrappedDoor {
 public:
  FaultyDoor(Door& door, DoorFaults faults);

  /// Calls so far that were refused or whose answer was lost.
  [[nodiscard]] std::uint64_t failed() const { return failed_; }
  /// Ends all faults.
  void mend() { faults_.refuse = faults_.lose = faults_.delay = 0; }

  DriverAnswer<std::vector<MigDevice>> mig_devices(GpuIndex gpu) override;

 private:
  enum class Access { read, change };
  std::expected<AnyAnswer, Refusal> through(DoorCall which, const DoorArguments& arguments,
                                            const Call& call) override;
  template <class MakeCall>
  std::invoke_result_t<MakeCall> with_faults(Access access, MakeCall call);
  Refusal made_up(Access access);
  void delay();

  Door& door_;
  DoorFaults faults_;
  Random random_, delays_;
  std::uint64_t calls_ = 0, failed_ = 0;
};

inline FaultyDoor::FaultyDoor(Door& door, DoorFaults faults)
    : door_(door), faults_(std::move(faults)), random_(faults_.seed), delays_(~faults_.seed) {}

inline Refusal FaultyDoor::made_up(Access access) {
  ++failed_;
  for (;;) {
    const auto& [code, of_reads, of_changes] =
        plausible_refusals[random_.below(plausible_refusals.size())];
    if (access == Access::read ? of_reads : of_changes) return {code, "a fault on purpose"};
  }
}

inline void FaultyDoor::delay() {
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
inline std::invoke_result_t<MakeCall> FaultyDoor::with_faults(Access access, MakeCall call) {
  if (calls_++ < faults_.spare) return call();
  // Both numbers are drawn in every call, so that one fault does not move the others.
  const double late = random_.uniform(), fate = random_.uniform();
  if (late < faults_.delay) delay();
  if (fate < faults_.refuse) return std::unexpected(made_up(access));
  auto answer = call();
  if (fate < faults_.refuse + faults_.lose) return std::unexpected(made_up(access));
  return answer;
}

inline std::expected<AnyAnswer, Refusal> FaultyDoor::through(DoorCall which, const DoorArguments&,
                                                             const Call& call) {
  using enum DoorCall;
  constexpr auto changes = std::to_array({set_mig_mode, create_gpu_instance, destroy_gpu_instance,
                                          create_compute_instance, destroy_compute_instance});
  if (which == DoorCall::driver) return call(door_);
  const bool change = std::ranges::find(changes, which) != changes.end();
  return with_faults(change ? Access::change : Access::read,
                     [&]() -> std::expected<AnyAnswer, Refusal> { return call(door_); });
}

inline DriverAnswer<std::vector<MigDevice>> FaultyDoor::mig_devices(GpuIndex gpu) {
  return with_faults(Access::read, [&] { return door_.mig_devices(gpu); });
}

}  // namespace cleave
