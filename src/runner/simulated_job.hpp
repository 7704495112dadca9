#pragma once
// A job that only pretends to compute: it holds memory that grows with each iteration, takes the
// time that its work would take on its instance, reports like a real job, and fails if its memory
// does not suffice. What it does is a plan made beforehand; it touches the world through doors, so
// that tests need no GPU, clock or socket.

#include <cstdint>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/job.hpp"
#include "model/memory_report.hpp"

namespace cleave {

/// What the job does.
struct SimulatedJobPlan {
  MemoryGrowth memory;  // with the number of iterations, at least 1
  Duration work{};      // of all iterations on the whole GPU under MIG; 0: the job only allocates
  double busy = 1;      // share of its time in which it keeps its instance busy
  std::uint64_t seed = 1;  // of the noise
};

/// The memory held during an iteration, from 1, with the context. Depends on the plan and the
/// iteration only, as in simulations (model/memory_growth.hpp).
[[nodiscard]] MiB memory_during(const SimulatedJobPlan& plan, std::int64_t iteration);

/// What a job is asked to do while it works.
enum class SimulatedJobRequest : std::uint8_t { none, stop, checkpoint };
/// How a period of work ended.
struct Worked {
  SimulatedJobRequest request = SimulatedJobRequest::none;
  Duration left{};  // of the requested time
};

/// The job's access to the world.
class JobDoors {
 public:
  virtual ~JobDoors() = default;
  /// Sets the memory held; false if there is not enough.
  [[nodiscard]] virtual Result<bool> hold(MiB memory) = 0;
  /// Waits for that time, or less if the job is asked to do something.
  [[nodiscard]] virtual Worked work(Duration time) = 0;
  /// Called at the end of each iteration.
  virtual void report(const MemoryReport& report) = 0;
  /// Saves the number of finished iterations; also before it stops.
  [[nodiscard]] virtual Result<void> keep(std::int64_t done) = 0;
};

/// How the job ended.
struct SimulatedJobOutcome {
  enum class End : std::uint8_t { finished, stopped, out_of_memory };
  End end = End::finished;
  std::int64_t done = 0;  // iterations, including those of earlier runs
  MiB held;               // last
  MiB wanted;             // when memory ran out
};

/// Runs the job from iteration `done` + 1 on. `speed` is that of its instance relative to the whole
/// GPU under MIG. Fails if a door does.
[[nodiscard]] Result<SimulatedJobOutcome> run_simulated_job(const SimulatedJobPlan& plan,
                                                            double speed, std::int64_t done,
                                                            JobDoors& doors);

}  // namespace cleave
