#pragma once
// A fleet in two parts, as sites have it that turn MIG on on some GPUs only: jobs of whole GPUs,
// one after the other, go to those with MIG off, and all others to the rest, which keep a fixed
// layout. Without such a part, no fixed layout runs jobs of whole GPUs.

#include <string>
#include <utility>
#include <vector>

#include "engine/scheduler.hpp"
#include "model/fleet_file.hpp"
#include "simulate/simulator.hpp"

namespace cleave {

/// The GPUs by what they are for.
struct PartedFleet {
  FleetFile whole;  // MIG off: the last GPUs of the fleet
  FleetFile mig;
};

/// A workload by where its jobs go, and their indices in it.
struct PartedWorkload {
  Workload whole, mig;
  std::vector<std::size_t> of_whole, of_mig;
};
[[nodiscard]] PartedWorkload parted(const Workload& workload);

/// Some ways to part the fleet, those with most GPUs under MIG first; each has enough whole GPUs
/// for the largest job of every workload. None where no job asks for whole GPUs, or where the
/// answer would not be that of one fleet; `why` then says so, as the end of a sentence.
struct PossibleParts {
  std::vector<PartedFleet> parts;
  std::string why;
};
[[nodiscard]] PossibleParts possible_parts(const FleetFile& fleet,
                                           const std::vector<Workload>& workloads,
                                           const SimulationOptions& options);

/// Both parts, the whole GPUs with backfill if `spec` has it. What the summary says of the jobs'
/// ends and of the makespan is that of both; `options.outcomes` are in the order of the workload.
[[nodiscard]] Result<RunSummary> simulate_parted(const PartedFleet& fleet, const Workload& workload,
                                                 const SchedulerSpec& spec,
                                                 const SimulationOptions& options);

}  // namespace cleave
