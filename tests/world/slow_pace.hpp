#pragma once
// The pace of the jobs on one GPU for the slow simulator, by bisection from the definitions in
// physics/contention.hpp and physics/instance_sharing.hpp. It shares no code with them but the
// constants that were fitted.

#include <algorithm>
#include <optional>
#include <vector>

#include "physics/contention.hpp"

namespace cleave {

/// A job's time by what it needs, on its instance, for all of its work. What crosses the link does
/// so by copy engines or by processors, and each has a limit.
struct Times {
  double fixed_s = 0, transfer_s = 0, compute_s = 0, bandwidth_s = 0, direct_s = 0;
  double transfer_limit = 1, direct_limit = 1;
  double overlap = 1;  // of the fixed part with compute and bandwidth

  /// Without the link.
  [[nodiscard]] double own_s(double clock) const;
  [[nodiscard]] double crosses_s() const { return transfer_s + direct_s; }
  /// On the link, where it gets this share of it, and this one of it by copy engines.
  [[nodiscard]] double link_s(double share, double copies = 1) const {
    return transfer_s / std::min({share, copies, transfer_limit}) +
           direct_s / std::min(share, direct_limit);
  }
  friend bool operator==(const Times&, const Times&) = default;
};

/// A job on a GPU.
struct SlowJob {
  Times times;
  int instance = 0;                            // jobs with the same number share it
  std::optional<SharingMode> beside;           // empty: the instance is the job's own
  double part = 1;                             // of the instance's processors that it may use
  double compute_share = 1, memory_share = 1;  // the instance's, of the GPU
  double kappa = 1;
  friend bool operator==(const SlowJob&, const SlowJob&) = default;
};

/// What they share besides.
struct SlowGpu {
  LinkSharing link = LinkSharing::spread;
  SharingOptions sharing;
  double span_w = 0;             // what busy work draws on all of the GPU
  std::optional<double> room_w;  // what jobs may draw; empty: clocks never fall
  double beta = 1;
};

/// What comes out.
struct SlowPace {
  std::vector<double> whole_s, watts;  // of each job: the time of all its work, what it draws
  double link = 0;  // the highest mean use of the link, or of the copy engines of an instance
};

SlowPace pace_slowly(const SlowGpu& gpu, const std::vector<SlowJob>& jobs);

}  // namespace cleave
