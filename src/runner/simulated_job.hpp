#pragma once
// A job that only seems to compute: it holds memory that grows by iteration, takes the time that
// its work would take on its instance, reports as a real job would, and fails where its memory does
// not suffice. What it does is a plan, made beforehand; what it touches are doors, so that it runs
// without GPU, clock or socket in tests.

#include <cstdint>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/job.hpp"
#include "model/memory_report.hpp"

namespace cleave {

struct SimulatedJobPlan {
  MemoryGrowth memory;  // with the number of iterations, at least 1
  Duration work{};      // of all iterations on the whole GPU under MIG; 0: the job only allocates
  double busy = 1;      // share of its time in which it keeps its instance busy
  std::uint64_t seed = 1;  // of the noise
};

/// Held during an iteration, the first is 1: base + i x per iteration, and normal noise of that
/// spread, cut at four times it. A function of plan and iteration alone, as in simulations.
[[nodiscard]] MiB memory_during(const SimulatedJobPlan& plan, std::int64_t iteration);

/// What somebody asks of a job while it works.
enum class SimulatedJobWish : std::uint8_t { none, stop, checkpoint };
struct Worked {
  SimulatedJobWish wish = SimulatedJobWish::none;
  Duration left{};  // of the time that was to pass
};

class JobDoors {
 public:
  virtual ~JobDoors() = default;
  /// False: there is not so much memory.
  [[nodiscard]] virtual Result<bool> hold(MiB memory) = 0;
  /// Lets the time pass, or less when somebody wishes something.
  [[nodiscard]] virtual Worked work(Duration time) = 0;
  /// At the end of each iteration.
  virtual void report(const MemoryReport& report) = 0;
  /// Keeps for later that so many iterations are done.
  [[nodiscard]] virtual Result<void> keep(std::int64_t done) = 0;
};

struct SimulatedJobOutcome {
  enum class End : std::uint8_t { finished, stopped, out_of_memory };
  End end = End::finished;
  std::int64_t done = 0;  // iterations, those of earlier runs included
  MiB held;               // last
  MiB wanted;             // when memory ran out
};

/// Goes on after `done` iterations. `speed` is that of its instance, relative to the whole GPU
/// under MIG. Fails where a door does.
[[nodiscard]] Result<SimulatedJobOutcome> run_simulated_job(const SimulatedJobPlan& plan,
                                                            double speed, std::int64_t done,
                                                            JobDoors& doors);

}  // namespace cleave
