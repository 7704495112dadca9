#pragma once
// Which jobs hold how many slices, added up over time, for workloads whose jobs say whose they are.
// Counted as the engine's fair share counts: from the decision to the end, of instances that jobs
// share in equal parts.

#include <vector>

#include "base/time.hpp"
#include "model/ids.hpp"
#include "model/run_summary.hpp"

namespace cleave {

/// The slices of an instance, or of a part of one.
struct SliceRate {
  double compute = 0, memory = 0;
};

/// The account of all jobs of a run, each process of several by itself; empty where it is not asked
/// for.
class SlicesHeld {
 public:
  explicit SlicesHeld(std::size_t jobs) : jobs_(jobs) {}

  [[nodiscard]] bool counts() const { return !jobs_.empty(); }
  /// From now on the job holds so much.
  void hold(JobId job, SliceRate rate, Instant now) {
    Held& held = jobs_[index(job)];
    const double seconds = in_seconds(now - held.since);
    held.sum.compute_s += held.rate.compute * seconds;
    held.sum.memory_s += held.rate.memory * seconds;
    held.rate = rate;
    held.since = now;
  }
  [[nodiscard]] const HeldSlices& of(JobId job) const { return jobs_[index(job)].sum; }

 private:
  struct Held {
    HeldSlices sum;
    SliceRate rate;
    Instant since{};
  };
  std::vector<Held> jobs_;
};

}  // namespace cleave
