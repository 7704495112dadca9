#pragma once
// Whether a job fits in an instance, from trials with other batches, numbers of processes and
// instances: n processes with batch b fit if
//
//     n (M0 + M1 b) <= usable memory of the profile.
//
// Trials say only yes or no, so M0 and M1 are known as regions of the plane: all pairs that
// contradict as few trials as can be. A new case fits if it does with every pair of them, does not
// if it does with none, and is otherwise not known. On the 2,475 trials of ParvaGPU (Lee et al., SC
// 2024) the form contradicts 6. M0 and M1 are thresholds of what ran, not measured footprints:
// contexts, fragmentation and what an allocator keeps are in them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/quantity.hpp"

namespace cleave {

/// One attempt to run, and how it went.
struct MemoryTrial {
  double batch;   // at least 1
  int processes;  // at least 1
  MiB usable;
  bool fits;
};

/// Lower and upper end.
struct MemoryInterval {
  double least, most;  // MiB
};

/// What is known of a case.
enum class MemoryVerdict : std::uint8_t { fits, does_not_fit, not_known };

/// What trials say of M0 and M1.
class MemoryLaw {
 public:
  /// Without trials nothing is known.
  explicit MemoryLaw(std::span<const MemoryTrial> trials);

  /// Trials that no M0 and M1 explain together with the others.
  [[nodiscard]] std::size_t contradicted() const { return contradicted_; }
  [[nodiscard]] MemoryInterval base() const;        // M0
  [[nodiscard]] MemoryInterval per_sample() const;  // M1
  /// n (M0 + M1 b). The upper end is the safe one.
  [[nodiscard]] MemoryInterval demand(double batch, int processes) const;
  [[nodiscard]] MemoryVerdict verdict(double batch, int processes, MiB usable) const;

 private:
  struct Pair {
    double base, per_sample;
  };
  std::vector<Pair> corners_;  // of all regions; what is linear has its extremes there
  std::size_t contradicted_ = 0;

  [[nodiscard]] MemoryInterval range(double of_base, double of_per_sample) const;
};

}  // namespace cleave
