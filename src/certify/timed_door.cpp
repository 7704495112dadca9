#include "certify/timed_door.hpp"

#include <chrono>

#include "base/format.hpp"

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

/// "create a compute instance, GPU instance 3, profile 7"
std::string what_it_does(DoorCall call, const DoorArguments& arguments) {
  const bool gpu_instance =
      call == DoorCall::create_gpu_instance || call == DoorCall::destroy_gpu_instance;
  const bool creates =
      call == DoorCall::create_gpu_instance || call == DoorCall::create_compute_instance;
  std::string what = fmt::format("{} a {} instance", creates ? "create" : "destroy",
                                 gpu_instance ? "GPU" : "compute");
  if (arguments.instance) what += fmt::format(", GPU instance {}", *arguments.instance);
  if (arguments.compute) what += fmt::format(", compute instance {}", *arguments.compute);
  if (arguments.profile) what += fmt::format(", profile {}", *arguments.profile);
  return what;
}

}  // namespace

void TimedDoor::reset() {
  times_.clear();
  last_create_ = last_destroy_ = nvml::Return::success;
}

std::expected<AnyAnswer, Refusal> TimedDoor::through(DoorCall which, const DoorArguments& arguments,
                                                     const Call& call) {
  const bool creates =
      which == DoorCall::create_gpu_instance || which == DoorCall::create_compute_instance;
  const bool destroys =
      which == DoorCall::destroy_gpu_instance || which == DoorCall::destroy_compute_instance;
  if (creates || destroys) before_(what_it_does(which, arguments));
  const auto begin = std::chrono::steady_clock::now();
  AnyAnswer answer = call(door_);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  const nvml::Return code = code_of(answer);
  if (creates) last_create_ = code;
  if (destroys) last_destroy_ = code;
  if (code == nvml::Return::success) times_[which].push_back(took.count());
  return answer;
}

}  // namespace cleave::certify
