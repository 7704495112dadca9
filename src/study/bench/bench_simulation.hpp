#pragma once
// `cleave bench simulation`: how many events a second a simulation runs through, on the path that
// `cleave simulate` takes. Arrivals and run times are exponential, profiles drawn evenly; the
// arrival rate holds a share of the fleet's memory slices. An event is an arrival or an end of a
// job and nothing else; reading files is not part of it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/scheduler.hpp"

namespace cleave {

struct SimulationBenchOptions {
  std::vector<std::size_t> gpus = {160, 10000};
  std::vector<std::size_t> jobs = {5000, 1000000};  // one for each size of fleet
  SchedulerSpec scheduler;
  const GpuModel* model;
  double load = 0.75;
  int repeats = 3;
};

struct SimulationBench {
  std::size_t gpus = 0, jobs = 0;
  std::string scheduler;
  std::size_t events = 0;
  double seconds = 0;                      // the median
  std::optional<bool> no_index_identical;  // tried where the scan ends in reasonable time
};

Result<std::vector<SimulationBench>> bench_simulation(const SimulationBenchOptions& options);

}  // namespace cleave
