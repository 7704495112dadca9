#include "certify/timed_door.hpp"

#include <chrono>

namespace cleave::certify {

namespace {

nvml::Return code_of(const AnyAnswer& any) {
  return std::visit(
      [](const auto& answer) {
        if constexpr (requires { answer.error(); })
          return answer ? nvml::Return::success : answer.error().code;
        else
          return nvml::Return::success;
      },
      any);
}

}  // namespace

void TimedDoor::reset() {
  times_.clear();
  last_create_ = last_destroy_ = nvml::Return::success;
}

std::expected<AnyAnswer, Refusal> TimedDoor::through(DoorCall which, const DoorArguments&,
                                                     const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  AnyAnswer answer = call(door_);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  const nvml::Return code = code_of(answer);
  if (which == DoorCall::create_gpu_instance || which == DoorCall::create_compute_instance)
    last_create_ = code;
  if (which == DoorCall::destroy_gpu_instance || which == DoorCall::destroy_compute_instance)
    last_destroy_ = code;
  if (code == nvml::Return::success) times_[which].push_back(took.count());
  return answer;
}

}  // namespace cleave::certify
