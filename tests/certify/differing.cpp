// A library in front of the simulated NVML that differs from it in one thing, which CLEAVE_DIFFERS
// names. What it does not define is found in the simulated library, on which it depends.

#include <dlfcn.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "nvmlsim/monitors_abi.hpp"

namespace cleave::nvml {

namespace {

bool differs_in(std::string_view what) {
  const char* const named = std::getenv("CLEAVE_DIFFERS");
  return named != nullptr && what == named;
}

/// The simulated library's function of the same name.
template <class F>
F* behind(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

constexpr std::uint32_t smallest_profile = 19;

template <class Info>
Return changed(Return code, Info* info) {
  if (code == Return::success && info->id == smallest_profile && differs_in("memory"))
    info->memory_size_mb -= 128;
  return code;
}

}  // namespace

#define CLEAVE_DIFFERING extern "C" __attribute__((visibility("default"))) Return
#define CLEAVE_BEHIND(name) behind<decltype(name)>(#name)

CLEAVE_DIFFERING nvmlDeviceGetGpuInstanceProfileInfo(Device device, std::uint32_t profile,
                                                     GpuInstanceProfileInfo* info) {
  return changed(CLEAVE_BEHIND(nvmlDeviceGetGpuInstanceProfileInfo)(device, profile, info), info);
}

CLEAVE_DIFFERING nvmlDeviceGetGpuInstancePossiblePlacements_v2(Device device, std::uint32_t id,
                                                               GpuInstancePlacement* placements,
                                                               std::uint32_t* count) {
  const Return code =
      CLEAVE_BEHIND(nvmlDeviceGetGpuInstancePossiblePlacements_v2)(device, id, placements, count);
  if (code == Return::success && id == smallest_profile && differs_in("placement")) --*count;
  return code;
}

CLEAVE_DIFFERING nvmlDeviceGetGpuInstanceRemainingCapacity(Device device, std::uint32_t id,
                                                           std::uint32_t* count) {
  const Return code = CLEAVE_BEHIND(nvmlDeviceGetGpuInstanceRemainingCapacity)(device, id, count);
  if (code == Return::success && id == smallest_profile && differs_in("capacity")) --*count;
  return code;
}

CLEAVE_DIFFERING nvmlDeviceGetMigMode(Device device, std::uint32_t* current,
                                      std::uint32_t* pending) {
  if (pending == nullptr && differs_in("error order")) return Return::not_supported;
  return CLEAVE_BEHIND(nvmlDeviceGetMigMode)(device, current, pending);
}

CLEAVE_DIFFERING nvmlDeviceGetBAR1MemoryInfo(Device device, Bar1Memory* memory) {
  if (memory == nullptr && differs_in("crash")) std::raise(SIGKILL);
  return CLEAVE_BEHIND(nvmlDeviceGetBAR1MemoryInfo)(device, memory);
}

CLEAVE_DIFFERING nvmlDeviceGetNumGpuCores(Device device, std::uint32_t* cores) {
  const Return code = CLEAVE_BEHIND(nvmlDeviceGetNumGpuCores)(device, cores);
  if (code == Return::success && differs_in("board")) ++*cores;
  return code;
}

CLEAVE_DIFFERING nvmlDeviceCreateGpuInstanceWithPlacement(Device device, std::uint32_t id,
                                                          const GpuInstancePlacement* placement,
                                                          GpuInstance* instance) {
  if (differs_in("time")) std::this_thread::sleep_for(std::chrono::milliseconds(150));
  return CLEAVE_BEHIND(nvmlDeviceCreateGpuInstanceWithPlacement)(device, id, placement, instance);
}

CLEAVE_DIFFERING nvmlComputeInstanceDestroy(ComputeInstance compute) {
  const Return code = CLEAVE_BEHIND(nvmlComputeInstanceDestroy)(compute);
  if (code == Return::in_use && differs_in("destroy rule")) return Return::invalid_state;
  return code;
}

}  // namespace cleave::nvml
