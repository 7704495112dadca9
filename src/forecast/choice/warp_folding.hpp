#pragma once
// Warp folding (*Managing Multi Instance GPUs*, 4.3): a kernel whose blocks fill more processors
// than there are runs in waves, and the last wave is seldom full. It takes as many waves on fewer
// processors: 120 SMs' worth of blocks take two time steps on 100 SMs, and two on 60, which leaves
// 40 to others.
//
//   needed = ceil(blocks / blocks an SM holds)     SMs that run the whole grid at once
//   waves  = ceil(needed / SMs)                    time steps, "assuming ideal parallelism"
//   folded = ceil(needed / waves)                  the fewest SMs that take no more time steps
//
// Folding never changes what a kernel computes; it is possible whenever a block fits on an SM at
// all, and it gains where `folded` is below the SMs there are. How many blocks an SM holds is
// counted as NVIDIA's occupancy calculation does, from the limits of the compute capability.
//
// The paper leaves open how many blocks share an SM without slowing each other and whether a wave
// more is acceptable: FoldingOptions. It says nothing of bandwidth, which shrinks with the
// instance; for kernels that it bounds, time steps are the wrong measure.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "model/gpu_model.hpp"

namespace cleave {

struct KernelLaunch {
  std::int64_t blocks = 1;        // of the grid, all three dimensions multiplied
  int threads = 1;                // of a block
  int registers = 0;              // of a thread, as the compiler reports them
  std::int64_t shared_bytes = 0;  // of a block, static and dynamic
};

/// What one SM of a compute capability holds. From the CUDA Programming Guide, "Compute
/// Capabilities".
struct SmLimits {
  std::string_view capability;  // "9.0"
  int blocks, warps;
  std::int64_t shared_bytes, shared_bytes_of_block;
};
[[nodiscard]] std::span<const SmLimits> sm_limits();
/// By capability; the error names those there are.
[[nodiscard]] Result<SmLimits> find_sm_limits(std::string_view capability);
/// Of a GPU of the tables.
[[nodiscard]] SmLimits sm_limits_of(const GpuModel& model);

enum class ResidencyLimit { blocks, warps, registers, shared_memory };
std::string_view name(ResidencyLimit limit);

struct Residency {
  int blocks = 0;  // on one SM at a time
  ResidencyLimit limit = ResidencyLimit::blocks;
};

/// Fails when the launch is not one that the hardware takes, with what is too much.
[[nodiscard]] Result<Residency> residency(const KernelLaunch& launch, const SmLimits& limits);

struct FoldingOptions {
  /// Blocks that share an SM without slowing each other; empty: as many as it holds. With 1 a wave
  /// is one block on each SM.
  std::optional<int> sharing;
  /// So many waves more than on all SMs are acceptable.
  std::int64_t more_waves = 0;
};

struct Folding {
  std::int64_t needed = 0;        // SMs that would run the grid at once
  std::int64_t waves = 0;         // on all SMs
  std::int64_t folded_waves = 0;  // on the folded ones; at most waves + more_waves
  std::int64_t folded = 0;        // SMs
  std::int64_t freed = 0;         // SMs that others can have; 0: there is nothing to gain
};

/// `sms` are those there are, at least 1.
[[nodiscard]] Result<Folding> fold(const KernelLaunch& launch, const SmLimits& limits,
                                   std::int64_t sms, const FoldingOptions& options = {});

/// The profile without attribute of fewest SMs, then least memory, that runs the kernel in as many
/// waves as the model's largest does, or as many more as the options accept. Null where nobody
/// knows the SMs.
[[nodiscard]] Result<const Profile*> fold_onto(const KernelLaunch& launch, const GpuModel& model,
                                               const FoldingOptions& options = {});

}  // namespace cleave
