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

/// Runs the plan on at most `most_threads` threads. The answer does not depend on their number,
/// except for the seconds. Fails with the error of the first run, in the order of the plan, that
/// failed.
Result<ComparedRuns> run_side_by_side(const ComparisonPlan& plan, std::size_t most_threads,
                                      const ProgressOfRun& progress);

}  // namespace cleave
