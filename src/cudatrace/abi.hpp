#pragma once
// Our own declarations of what is passed between a program and the CUDA runtime or driver: written
// from NVIDIA's public reference of both interfaces (11.0 to 13.0), and only as much of them as is
// followed or answered. Handles are pointers, results are numbers.

#include <cstddef>
#include <cstdint>

namespace cleave::cuda {

/// cudaError_t and CUresult; those that are used have the same number in both.
using Status = int;
inline constexpr Status success = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3,
                        invalid_device = 101, invalid_handle = 400, not_found = 500,
                        not_ready = 600, not_supported = 801;

/// dim3.
struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};
/// cudaExtent: the width in bytes, of arrays in elements.
struct Extent {
  std::size_t width, height, depth;
};
/// cudaPitchedPtr.
struct PitchedPointer {
  void* pointer;
  std::size_t pitch, width, height;
};
/// cudaChannelFormatDesc: bits of each component.
struct ChannelFormat {
  int x, y, z, w;
  int kind;
};
/// cudaLaunchConfig_t.
struct LaunchConfig {
  Dim3 grid, block;
  std::size_t shared_bytes;
  void* stream;
  void* attributes;
  unsigned attribute_count;
};
/// CUlaunchConfig.
struct DriverLaunchConfig {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void* stream;
  void* attributes;
  unsigned attribute_count;
};
/// CUDA_ARRAY_DESCRIPTOR, the second version.
struct ArrayDescriptor {
  std::size_t width, height;
  int format;
  unsigned channels;
};
/// CUDA_ARRAY3D_DESCRIPTOR, the second version.
struct Array3dDescriptor {
  std::size_t width, height, depth;
  int format;
  unsigned channels, flags;
};
/// The beginning of CUmemAllocationProp.
struct AllocationProperties {
  int type, handle_types;
  int location_type, location_id;
};
inline constexpr int location_device = 1;

/// Bytes of an array element of a driver's format (CUarray_format).
constexpr std::size_t bytes_of_format(int format) {
  switch (format) {
    case 0x02:  // unsigned and signed of 16 bits, half
    case 0x09:
    case 0x10:
      return 2;
    case 0x03:  // of 32 bits, float
    case 0x0A:
    case 0x20:
      return 4;
    default:
      return 1;
  }
}
/// The largest number if there is none so large, for which no GPU has room.
constexpr std::size_t product(std::size_t a, std::size_t b) {
  std::size_t all = 0;
  return __builtin_mul_overflow(a, b, &all) ? SIZE_MAX : all;
}
/// As the real ones: rows begin at multiples of 512.
constexpr std::size_t pitch_of(std::size_t width) {
  constexpr std::size_t unit = 512;
  return width > SIZE_MAX - unit ? SIZE_MAX : (width + unit - 1) / unit * unit;
}
constexpr std::size_t at_least_one(std::size_t count) {
  return count == 0 ? 1 : count;
}
/// Without what the hardware adds to lay it out, which is not published.
constexpr std::size_t bytes_of_array(std::size_t element, std::size_t width, std::size_t height,
                                     std::size_t depth) {
  return product(product(element, at_least_one(width)),
                 product(at_least_one(height), at_least_one(depth)));
}
constexpr std::size_t bytes_of_element(const ChannelFormat& format) {
  constexpr int bits = 8;
  return static_cast<std::size_t>(format.x + format.y + format.z + format.w) / bits;
}

}  // namespace cleave::cuda
