#pragma once
// Equal jobs on one simulated GPU, one after another or side by side: the simulator's runs from
// which `cleave reproduce co-runs` takes its figures.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "simulate/simulator.hpp"

namespace cleave {

/// Jobs that are all there from the beginning.
struct CorunJob {
  SpeedModel speed;
  std::string profile;  // that it asks for; empty: any instance holds it
  double seconds = 0;   // on the whole GPU
};

[[nodiscard]] std::vector<CorunJob> equal_jobs(int count, const CorunJob& job);

/// What a run comes to.
struct CorunOutcome {
  double makespan_s = 0;
  double energy_j = 0, peak_w = 0;  // of the GPU; 0 where the world has no power
  std::vector<double> execution_s;  // of each job
};

/// Runs the jobs on one GPU of the model. `scheduler` as `cleave simulate` takes it.
[[nodiscard]] Result<CorunOutcome> run_jobs(std::string_view gpu, std::string_view scheduler,
                                            const std::vector<CorunJob>& jobs,
                                            const SimulationOptions& options);

}  // namespace cleave
