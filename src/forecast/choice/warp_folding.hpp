#pragma once
// Warp folding (*Managing Multi Instance GPUs*, 4.3): a kernel with more blocks than the processors
// hold at once runs in waves, and the last wave is seldom full. It takes the same number of waves
// on fewer processors: 120 SMs' worth of blocks take two time steps on 100 SMs, and two on 60,
// which leaves 40 to others.
//
//   needed = ceil(blocks / blocks an SM holds)     SMs that run the whole grid at once
//   waves  = ceil(needed / SMs)                    time steps, "assuming ideal parallelism"
//   folded = ceil(needed / waves)                  the fewest SMs that take no more time steps
//
// Folding never changes what a kernel computes. It is possible whenever a block fits on an SM at
// all, and it gains if `folded` is below the number of SMs. The number of blocks on an SM is
// counted like in NVIDIA's occupancy calculation, from the limits of the compute capability.
//
// The paper leaves open how many blocks share an SM without slowing each other and whether one more
// wave is acceptable: FoldingOptions. It says nothing about bandwidth, which shrinks with the
// instance; for kernels that are bound by it, time steps are the wrong measure.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "model/gpu_model.hpp"
#include "model/kernel_use.hpp"

namespace cleave {

/// The launch of a kernel.
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
/// By capability; the error lists the known ones.
[[nodiscard]] Result<SmLimits> find_sm_limits(std::string_view capability);
/// Of a GPU model.
[[nodiscard]] SmLimits sm_limits_of(const GpuModel& model);

/// What limits the number of blocks on an SM.
enum class ResidencyLimit { blocks, warps, registers, shared_memory };
std::string_view name(ResidencyLimit limit);

/// How many blocks an SM holds, and why not more.
struct Residency {
  int blocks = 0;  // on one SM at a time
  ResidencyLimit limit = ResidencyLimit::blocks;
};

/// Fails if the hardware does not accept the launch, with the value that is too large.
[[nodiscard]] Result<Residency> residency(const KernelLaunch& launch, const SmLimits& limits);

/// What the paper leaves open.
struct FoldingOptions {
  /// How many blocks share an SM without slowing each other; empty: as many as it holds. With 1, a
  /// wave is one block on each SM.
  std::optional<int> sharing;
  /// How many more waves than on all SMs are acceptable.
  std::int64_t more_waves = 0;
};

/// The result of folding a kernel.
struct Folding {
  std::int64_t needed = 0;        // SMs that would run the grid at once
  std::int64_t waves = 0;         // on all SMs
  std::int64_t folded_waves = 0;  // on the folded ones; at most waves + more_waves
  std::int64_t folded = 0;        // SMs
  std::int64_t freed = 0;         // SMs that others can use; 0: no gain
};

/// `sms`: the available SMs, at least 1.
[[nodiscard]] Result<Folding> fold(const KernelLaunch& launch, const SmLimits& limits,
                                   std::int64_t sms, const FoldingOptions& options = {});

/// The profile without attribute with the fewest SMs, then the least memory, that runs the kernel
/// in as many waves as the model's largest does, plus those that the options accept. Null if the
/// number of SMs is unknown.
[[nodiscard]] Result<const Profile*> fold_onto(const KernelLaunch& launch, const GpuModel& model,
                                               const FoldingOptions& options = {});

/// The compute slices of that profile, for a job's kernel on GPUs of these models: there must be
/// one. Errors have no place.
[[nodiscard]] Result<ComputeSlices> slices_for(const KernelUse& kernel,
                                               std::span<const GpuModel* const> models);

}  // namespace cleave
