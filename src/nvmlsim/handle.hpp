#pragma once
// NVML's handles in the simulated library: numbers in the form of pointers, made of the kind of
// object, its GPU, and its serial in the node. The handle of a destroyed instance stays invalid,
// even if a new instance has its placement and number.

#include <bit>
#include <cstdint>

#include "model/nvml_abi.hpp"

namespace cleave::sim {

/// What a handle names.
enum class HandleKind : std::uint8_t {
  nothing = 0,
  gpu = 1,
  gpu_instance = 2,
  compute_instance = 3,
  mig_device = 4,
  event_set = 5,
  gpm_sample = 6
};

/// A handle taken apart.
struct HandleParts {
  HandleKind kind = HandleKind::nothing;
  std::uint32_t gpu = 0;
  std::uint64_t serial = 0;  // 48 bits
};

// Higher than any address of a program, so that using a handle as a pointer crashes.
inline constexpr int kind_shift = 56, gpu_shift = 48;

template <class Handle>
Handle make_handle(HandleKind kind, std::uint32_t gpu, std::uint64_t serial) {
  static_assert(sizeof(Handle) == sizeof(std::uint64_t));
  const std::uint64_t bits = static_cast<std::uint64_t>(kind) << kind_shift |
                             static_cast<std::uint64_t>(gpu) << gpu_shift |
                             (serial & ((1ULL << gpu_shift) - 1));
  return std::bit_cast<Handle>(bits);
}

template <class Handle>
HandleParts parts_of(Handle handle) {
  const auto bits = std::bit_cast<std::uint64_t>(handle);
  const std::uint64_t kind = bits >> kind_shift;
  if (kind < 1 || kind > 6) return {};
  return {static_cast<HandleKind>(kind), static_cast<std::uint32_t>(bits >> gpu_shift & 0xffU),
          bits & ((1ULL << gpu_shift) - 1)};
}

inline nvml::Device gpu_handle(std::uint32_t gpu) {
  return make_handle<nvml::Device>(HandleKind::gpu, gpu, gpu + 1);
}

}  // namespace cleave::sim
