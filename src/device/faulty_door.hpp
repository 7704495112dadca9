#pragma once
// A door that fails, for tests of its users: some calls are refused as drivers refuse them, some
// are delayed, and some are carried out but reported as refused. Seeded: the same calls meet the
// same faults.

#include <functional>
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
std::vector<PlausibleRefusal> plausible_refusals();

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

}  // namespace cleave
