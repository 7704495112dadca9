#pragma once
// A door that notes how long each change of instances took, and the last refusal of one.

#include <functional>
#include <map>

#include "device/wrapped_door.hpp"

namespace cleave::certify {

/// Passes all calls on to `door`, which must outlive it; `before` is called before each change with
/// what is about to be done.
class TimedDoor final : public WrappedDoor {
 public:
  TimedDoor(Door& door, std::function<void(const std::string& what)> before)
      : door_(door), before_(std::move(before)) {}

  /// Milliseconds of each call of this kind that the driver carried out, in order.
  [[nodiscard]] const std::vector<double>& times(DoorCall call) { return times_[call]; }
  /// Forgets what was noted.
  void reset();
  /// What the driver answered to the last attempt to make or to destroy something.
  [[nodiscard]] nvml::Return last_create() const { return last_create_; }
  [[nodiscard]] nvml::Return last_destroy() const { return last_destroy_; }

 private:
  std::expected<AnyAnswer, Refusal> through(DoorCall which, const DoorArguments& arguments,
                                            const Call& call) override;

  Door& door_;
  std::function<void(const std::string& what)> before_;
  std::map<DoorCall, std::vector<double>> times_;
  nvml::Return last_create_ = nvml::Return::success;
  nvml::Return last_destroy_ = nvml::Return::success;
};

}  // namespace cleave::certify
