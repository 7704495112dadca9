#pragma once
// What a run draws: the energy of the fleet, of each job and of idle GPUs, the highest power at any
// time, and what a meter that polls would have seen. Power is constant between changes and counted
// in whole milliwatts, time in nanoseconds, so every sum is exact: the fleet's energy, which is
// integrated over time, equals that of its parts.
//
// Watts are those of a scenario (physics/power.hpp), not a prediction.

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "base/time.hpp"
#include "model/ids.hpp"
#include "model/run_summary.hpp"
#include "physics/power.hpp"

namespace cleave {

/// The books of energy of one run. Jobs and GPUs are known by their numbers; of a job of several
/// places, each process is.
class EnergyAccount {
 public:
  /// Nothing is kept where `jobs` is 0. `sample`: the interval of a meter that polls.
  EnergyAccount(std::size_t jobs, std::size_t gpus, std::optional<Duration> sample, Instant begin);

  /// From `from` on, which is now or later, the job draws this and nothing else.
  void job_draws(JobId job, Milliwatts power, Instant from, Instant now) {
    if (jobs_ > 0) draws(index(job), power, from, now);
  }
  void gpu_idles(GpuId gpu, Milliwatts power, Instant now) {
    if (jobs_ > 0) draws(jobs_ + index(gpu), power, now, now);
  }
  /// A job comes soon: has the memory fetch what that needs.
  void expect(JobId job) const {
    if (jobs_ > 0) __builtin_prefetch(&drawn_[index(job)], 1);
  }

  /// Closes the books at `end` or at the last change, if that is later.
  void finish(Instant end, RunSummary& summary);
  /// Of a job, until its last change.
  [[nodiscard]] double joules(JobId job) const { return in_joules(drawn_[index(job)].energy); }

 private:
  __extension__ typedef __int128 Picojoules;  // milliwatts times nanoseconds

  /// What a job, or an idle GPU, has drawn, and draws.
  struct Drawn {
    Picojoules energy = 0;
    Instant from{};
    Milliwatts power;
  };
  /// Power that rises at a time to come, or falls again where a rise was called off.
  struct Rise {
    Instant at;
    Milliwatts by;
    friend bool operator>(const Rise& a, const Rise& b) { return a.at > b.at; }
  };

  static double in_joules(Picojoules energy);
  void draws(std::size_t which, Milliwatts power, Instant from, Instant now);
  void close(Drawn& drawn, Instant now);
  void advance(Instant now);
  [[nodiscard]] std::int64_t samples_before(Instant at) const;

  std::size_t jobs_;
  std::optional<Duration> sample_;
  Instant begin_, until_;
  std::vector<Drawn> drawn_;  // jobs, then idle GPUs
  std::priority_queue<Rise, std::vector<Rise>, std::greater<>> rises_;
  Milliwatts fleet_, peak_;
  Picojoules energy_ = 0, sampled_ = 0;
};

}  // namespace cleave
