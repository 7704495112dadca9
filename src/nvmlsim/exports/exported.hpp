#pragma once
// What the files export_*.cpp share: declarations of all functions of the interface, and the lookup
// of the GPU and instance that a handle names.

#include <algorithm>
#include <cstring>
#include <string_view>

#include "model/nvml_abi.hpp"
#include "nvmlsim/gpu_rules.hpp"
#include "nvmlsim/handle.hpp"
#include "nvmlsim/monitors_abi.hpp"
#include "nvmlsim/session.hpp"

namespace cleave::nvml {

#define CLEAVE_NVML_DECLARE(name, parameters) \
  extern "C" __attribute__((visibility("default"))) Return name parameters;
CLEAVE_NVML_NEEDED(CLEAVE_NVML_DECLARE)
CLEAVE_NVML_OPTIONAL(CLEAVE_NVML_DECLARE)
CLEAVE_NVML_OTHERS(CLEAVE_NVML_DECLARE)
CLEAVE_NVML_MONITORS(CLEAVE_NVML_DECLARE)
#undef CLEAVE_NVML_DECLARE
extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(Return code);

}  // namespace cleave::nvml

namespace cleave::sim {

/// Copies a text, with a terminating zero, into a caller's buffer.
inline nvml::Return put_text(std::string_view text, char* buffer, std::uint32_t size) {
  if (buffer == nullptr) return nvml::Return::invalid_argument;
  if (size <= text.size()) return nvml::Return::insufficient_size;
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  return nvml::Return::success;
}

/// Copies a text into an array of a structure, cut if it is too long.
template <std::size_t Size>
void put_name(std::string_view text, std::array<char, Size>& name) {
  name.fill('\0');
  std::copy_n(text.begin(), std::min(text.size(), Size - 1), name.begin());
}

template <class Number, class Value>
nvml::Return put(Number* place, Value value) {
  if (place == nullptr) return nvml::Return::invalid_argument;
  *place = static_cast<Number>(value);
  return nvml::Return::success;
}

/// The GPU whose number is in the handle; the caller checks the kind.
template <class F>
nvml::Return with_gpu(const HandleParts& parts, F&& f) {
  const Call call;
  if (call.status() != nvml::Return::success) return call.status();
  if (parts.gpu >= call.node().gpus()) return nvml::Return::invalid_argument;
  return f(call);
}

/// What a call with a wrong argument gets: that NVML is not open comes before.
inline nvml::Return wrong_argument() {
  const Call call;
  return call.status() == nvml::Return::uninitialized ? nvml::Return::uninitialized
                                                      : nvml::Return::invalid_argument;
}

/// The handle of the first GPU for which `is_it(cell, gpu)`.
template <class F>
nvml::Return find_gpu(nvml::Device* device, F&& is_it) {
  const Call call;
  if (call.status() != nvml::Return::success) return call.status();
  if (device == nullptr) return nvml::Return::invalid_argument;
  for (std::uint32_t gpu = 0; gpu < call.node().gpus(); ++gpu) {
    if (!is_it(call.node().cell(gpu), gpu)) continue;
    const GpuAccess access(call.node(), gpu);
    return access.status() == nvml::Return::success ? put(device, gpu_handle(gpu))
                                                    : access.status();
  }
  return nvml::Return::not_found;
}

/// `f(call, access, gpu)` on a GPU's own handle; MIG devices are refused.
template <class F>
nvml::Return on_gpu(nvml::Device device, F&& f) {
  const HandleParts parts = parts_of(device);
  return with_gpu(parts, [&](const Call& call) {
    if (parts.kind != HandleKind::gpu) return nvml::Return::invalid_argument;
    GpuAccess access(call.node(), parts.gpu);
    return access.status() == nvml::Return::success ? f(call, access, parts.gpu) : access.status();
  });
}

/// The same for calls that need root on hardware.
template <class F>
nvml::Return on_gpu_privileged(nvml::Device device, F&& f) {
  return on_gpu(device, [&](const Call& call, GpuAccess& access, std::uint32_t gpu) {
    return call.node().privileged() ? f(call, access, gpu) : nvml::Return::no_permission;
  });
}

enum class Dead : std::uint8_t { may_be_there, are_taken_out };

/// `f(call, access, gpu, slot)` on the handle of a GPU or a MIG device; the slot is that of the MIG
/// device's compute instance.
template <class F>
nvml::Return on_device(nvml::Device device, F&& f, Dead dead = Dead::may_be_there) {
  const HandleParts parts = parts_of(device);
  return with_gpu(parts, [&](const Call& call) {
    const bool mig = parts.kind == HandleKind::mig_device;
    if (!mig && parts.kind != HandleKind::gpu) return nvml::Return::invalid_argument;
    if (dead == Dead::are_taken_out) reap(call.node(), parts.gpu, false);
    GpuAccess access(call.node(), parts.gpu);
    if (access.status() != nvml::Return::success) return access.status();
    const auto slot = mig ? find_compute_instance(access.record(), parts.serial) : std::nullopt;
    if (mig && !slot) return nvml::Return::invalid_argument;
    return f(call, access, parts.gpu, slot);
  });
}

/// For what drivers know of whole GPUs only: `f(access, gpu)`. Wrong arguments come before that a
/// MIG device does not have it.
template <class F>
nvml::Return on_whole_gpu(nvml::Device device, bool arguments_fine, F&& f) {
  return on_device(
      device,
      [&](const Call&, GpuAccess& access, std::uint32_t gpu, std::optional<std::size_t> slot) {
        if (!arguments_fine) return nvml::Return::invalid_argument;
        return slot ? nvml::Return::not_supported : f(access, gpu);
      },
      Dead::are_taken_out);
}

/// The same answer for every existing GPU and MIG device.
template <class Number, class Value>
nvml::Return always(nvml::Device device, Number* place, Value value) {
  return on_device(device, [&](const Call&, GpuAccess&, std::uint32_t, std::optional<std::size_t>) {
    return put(place, value);
  });
}

/// `f(call, access, gpu, slot)` on a MIG device, a GPU instance or a compute instance.
template <class Handle, class F>
nvml::Return on_instance(HandleKind kind, Handle handle, F&& f) {
  const HandleParts parts = parts_of(handle);
  return with_gpu(parts, [&](const Call& call) {
    if (parts.kind != kind) return nvml::Return::invalid_argument;
    GpuAccess access(call.node(), parts.gpu);
    if (access.status() != nvml::Return::success) return access.status();
    const auto slot = kind == HandleKind::gpu_instance
                          ? find_gpu_instance(access.record(), parts.serial)
                          : find_compute_instance(access.record(), parts.serial);
    return slot ? f(call, access, parts.gpu, *slot) : nvml::Return::invalid_argument;
  });
}

/// On a GPU instance, for calls that need root on hardware.
template <class F>
nvml::Return on_instance_privileged(nvml::GpuInstance instance, F&& f) {
  return on_instance(HandleKind::gpu_instance, instance,
                     [&](const Call& call, GpuAccess& access, std::uint32_t gpu, std::size_t slot) {
                       return call.node().privileged() ? f(call, access, gpu, slot)
                                                       : nvml::Return::no_permission;
                     });
}

}  // namespace cleave::sim
