#pragma once
// The launch of a job's largest kernel, as workloads and submissions write it: {"grid": [63, 63],
// "threads": [16, 16], "registers": 40, "shared_bytes": 2048}.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.hpp"

namespace cleave {

inline constexpr std::int64_t most_kernel_size = 2147483647;  // of one dimension, and shared bytes

/// As it is written.
struct StatedKernel {
  std::vector<std::int64_t> grid,
      threads;                    // blocks, and threads of a block: up to three dimensions
  std::int64_t registers = 0;     // of a thread; 0: not known
  std::int64_t shared_bytes = 0;  // of a block
  friend bool operator==(const StatedKernel&, const StatedKernel&) = default;
};

/// With the dimensions multiplied.
struct KernelUse {
  std::int64_t blocks = 1;        // of the grid
  std::int64_t threads = 1;       // of a block
  std::int64_t registers = 0;     // of a thread; 0: not known
  std::int64_t shared_bytes = 0;  // of a block
};

/// The key of grid or threads if it has no dimensions, more than three, or more in all than 64 bits
/// hold. The values are within the bounds of the rows.
[[nodiscard]] std::optional<std::string_view> wrong_dimensions(const StatedKernel& kernel);
inline constexpr std::string_view wrong_dimensions_text =
    "these are not the sizes of one to three dimensions";
/// Of a kernel without wrong dimensions.
[[nodiscard]] KernelUse use_of(const StatedKernel& kernel);
/// "63x63 blocks of 16x16 threads, 40 registers, 2048 bytes of shared memory"
[[nodiscard]] std::string in_words(const StatedKernel& kernel);

template <>
inline constexpr auto fields_of<StatedKernel> = std::tuple{
    field("grid", &StatedKernel::grid,
          {.help = "Blocks in one to three dimensions",
           .least = 1,
           .most = most_kernel_size,
           .needed = true,
           .always_stored = true}),
    field("threads", &StatedKernel::threads,
          {.help = "Threads of a block in one to three dimensions",
           .least = 1,
           .most = most_kernel_size,
           .needed = true,
           .always_stored = true}),
    field("registers", &StatedKernel::registers,
          {.help = "Registers of a thread; 0: not known", .least = 0, .most = 255}),
    field("shared_bytes", &StatedKernel::shared_bytes,
          {.help = "Shared memory of a block, static and dynamic",
           .least = 0,
           .most = most_kernel_size}),
};
template <>
inline constexpr std::string_view schema_of<StatedKernel> = "StatedKernel";

}  // namespace cleave
