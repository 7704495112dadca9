#pragma once
// Simulations from a seed: a fleet with idle instances, walls and work of its own, jobs of every
// kind that a workload can hold, and faults. The same seed gives the same scenario on every
// machine.

#include <cstdint>
#include <string>

#include "law_checker.hpp"
#include "simulate/simulator.hpp"

namespace cleave::laws {

/// Everything that a run needs.
struct Scenario {
  FleetFile fleet;
  Workload workload;
  SimulationOptions options;
  bool must_end = true;  // every model has a GPU that only jobs ever use

  [[nodiscard]] LawOptions laws(const SchedulerSpec& spec) const;
  /// Those of the run, without what the scheduler refuses.
  [[nodiscard]] SimulationOptions options_of(const SchedulerSpec& spec) const;
};

/// At most about `jobs` jobs; those of one seed grow with it.
Scenario random_scenario(std::uint64_t seed, std::size_t jobs);

/// The same on several nodes, with jobs of several places and of whole GPUs.
Scenario with_gangs(Scenario scenario);

/// The options of a scheduler, drawn from the lists in its rows; further ones from `further`.
std::string random_spec(const SchedulerRow& row, std::uint64_t seed);

}  // namespace cleave::laws
