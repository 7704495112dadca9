#pragma once
// The memory of simulated jobs: how it grows with the iterations, what of it was requested, and
// what the job reports of it. One description for the simulator, for `cleave-job` and for the
// studies, so that all three report as the hook of a real program does.

#include <cstdint>
#include <optional>

#include "base/quantity.hpp"
#include "model/memory_report.hpp"

namespace cleave {

/// Memory that grows with every iteration.
struct MemoryGrowth {
  /// What the allocator holds: base + i x per-iteration, plus normal noise with this spread.
  MiB base, per_iteration, noise;
  std::int64_t iterations = 0;
  /// What an iteration requests in total, as a multiple of what that takes physically (MIGM, 3.2.3:
  /// the inverse of the reuse ratio), and the spread of that multiple as a share of it.
  double reuse_ratio = 1, reuse_noise = 0;
  /// Held besides, and reported as a part of its own; empty: the memory above includes it.
  std::optional<MiB> context = {};
  friend bool operator==(const MemoryGrowth&, const MemoryGrowth&) = default;
};

/// Bounds of the two, so that requests stay positive.
inline constexpr double least_reuse_ratio = 0.01, most_reuse_ratio = 1000, most_reuse_noise = 0.2;

/// Held by the allocator during an iteration, the first is 1. Noise is cut at four spreads and is a
/// function of `seed`, `job` and `iteration` alone, so that a restarted job grows as before.
[[nodiscard]] MiB allocated_during(const MemoryGrowth& growth, std::uint64_t seed,
                                   std::uint64_t job, std::int64_t iteration);
/// Held in all, with the context.
[[nodiscard]] MiB held_during(const MemoryGrowth& growth, std::uint64_t seed, std::uint64_t job,
                              std::int64_t iteration);
/// What the job reports at the end of the iteration. If neither a context nor reuse is stated, it
/// is a report of one number for everything.
[[nodiscard]] MemoryReport report_of(const MemoryGrowth& growth, std::uint64_t seed,
                                     std::uint64_t job, std::int64_t iteration);

/// The most spreads by which noise strays.
inline constexpr double most_spreads = 4;

}  // namespace cleave
