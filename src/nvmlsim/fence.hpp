#pragma once
// What of a node a program can reach where it was not given the device nodes of everything, as in a
// container: CLEAVE_SIM_DEVICES names its GPUs and MIG devices by UUID, with commas between them.
// Others are not listed, as by a driver whose nodes are missing. Without the variable all are.

#include "nvmlsim/state.hpp"

namespace cleave::sim {

/// Reads the variable; at nvmlInit, before other threads ask.
void read_fence();
[[nodiscard]] bool can_reach(const Uuid& device);
/// The GPU itself, or an instance of it.
[[nodiscard]] bool can_reach(const Uuid& gpu, const GpuRecord& record);

}  // namespace cleave::sim
