#pragma once
// Runs of several schedulers with several seeds, in several threads.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.hpp"
#include "simulate/comparison.hpp"
#include "simulate/simulator.hpp"

namespace cleave {

/// What is compared: every scheduler with every seed.
struct ComparisonPlan {
  FleetFile fleet;
  std::vector<SchedulerSpec> specs;
  std::vector<Workload> workloads;  // by seed, or one for all
  std::vector<std::uint64_t> seeds;
  SimulationOptions simulation;
  /// Watches the run of a scheduler with a seed, by their places; null: nobody does. Empty: nobody
  /// watches any.
  std::function<RunObserver*(std::size_t seed, std::size_t scheduler)> observer = {};

  [[nodiscard]] const Workload& workload(std::size_t seed) const {
    return workloads[workloads.size() == 1 ? 0 : seed];
  }
};

/// The results of all runs.
struct ComparedRuns {
  std::vector<SeedRuns> seeds;
  std::vector<std::vector<double>> seconds;  // the time that each run took, by seed and scheduler
};

/// Returns the observer of a run's progress; called from every thread.
using ProgressOfRun = std::function<Progress(std::size_t run)>;

/// Hears what became of each job in the runs of one seed, by scheduler; seed after seed in their
/// order, one at a time, from any thread. After a failure it is not called again.
using OutcomesOfSeed = std::function<Result<void>(
    std::size_t seed, const std::vector<std::vector<JobOutcome>>& by_scheduler)>;

/// Runs the plan on at most `most_threads` threads. The answer does not depend on their number,
/// except for the seconds. Fails with the error of the first run, in the order of the plan, that
/// failed, or else with that of `outcomes`, which may be empty.
Result<ComparedRuns> run_side_by_side(const ComparisonPlan& plan, std::size_t most_threads,
                                      const ProgressOfRun& progress,
                                      const OutcomesOfSeed& outcomes = {});

}  // namespace cleave
