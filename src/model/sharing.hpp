#pragma once
// How several jobs share one GPU instance.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cleave {

/// By what means.
enum class SharingMode : std::uint8_t {
  mps,                // NVIDIA's Multi-Process Service: kernels of all jobs run side by side
  time_slicing,       // the driver's default: processes take turns on the whole instance
  compute_instances,  // processors of their own; memory and its bandwidth in common
};

/// By value.
inline constexpr std::array<std::string_view, 3> words_of_sharing = {"mps", "time-slicing",
                                                                     "compute-instances"};
constexpr std::string_view name(SharingMode mode) {
  return words_of_sharing[static_cast<std::size_t>(mode)];
}

/// A job's part of an instance that it shares. All jobs in one instance share it by the same means.
struct InstanceShare {
  SharingMode mode = SharingMode::mps;
  /// mps: the percentage of the instance's threads that the job may use, 0 for all of them.
  /// compute_instances: the slices of its compute instance, at least 1. Otherwise 0.
  std::uint8_t part = 0;

  friend bool operator==(const InstanceShare&, const InstanceShare&) = default;
};

}  // namespace cleave
