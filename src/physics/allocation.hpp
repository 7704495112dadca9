#pragma once
// How much longer processes take to allocate and free memory when a GPU has several GPU instances.
// Each instance has an address space of its own, which the driver keeps.

#include "base/time.hpp"

namespace cleave {

/// What allocating and freeing takes a process longer, in all its life, on one of `instances` GPU
/// instances of 1g than alone on the whole GPU. *Managing Multi Instance GPUs*, table 3, one
/// application on an A100 40 GB: allocating took 0.24 s alone and 0.98 s as one of seven, freeing
/// 0.58 and 24.69 ms.
///
/// Two points: not a slope. Between them a straight line is assumed, and beyond seven nothing more.
/// Whether the time depends on how much is allocated, on the GPU model or on what the other
/// instances do is not known. A single instance counts as the whole GPU.
[[nodiscard]] Duration slower_allocation(int instances);

}  // namespace cleave
