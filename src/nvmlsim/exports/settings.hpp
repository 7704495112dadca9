#pragma once
// Changing what administrators may set of a GPU.

#include "nvmlsim/exports/exported.hpp"

namespace cleave::sim {

/// `f(board, settings)` on a copy of the GPU's settings, which become the GPU's if it returns
/// success. What it refuses as wrong comes before that only root may change them.
template <class F>
nvml::Return change_settings(nvml::Device device, F&& f) {
  return on_device(device, [&](const Call& call, GpuAccess& access, std::uint32_t,
                               std::optional<std::size_t> slot) {
    GpuSettings settings = access.record().settings;
    const nvml::Return answer = f(access.board(), settings);
    if (answer != nvml::Return::success) return answer;
    if (slot) return nvml::Return::not_supported;
    if (!call.node().privileged()) return nvml::Return::no_permission;
    access.draft().settings = settings;
    access.commit();
    return answer;
  });
}

}  // namespace cleave::sim
