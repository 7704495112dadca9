#pragma once
// Runs a workload on a simulated fleet under a scheduler, on a virtual clock, and measures. The scheduler is
// the one that a daemon would run; only what tells it of the world, and what carries out its commands, is
// invented.
//
// Two things happen in it, a job arrives or a job ends. At one instant ends come before arrivals, ends by job
// number, arrivals in order. A job holds its instance from the moment it is decided, starts when the instance
// is made, and runs its duration divided by its speed there. Nothing is random: same input, same bytes.

#include <cstdint>
#include <functional>

#include "base/result.hpp"
#include "engine/scheduler.hpp"
#include "model/fleet_file.hpp"
#include "model/job.hpp"
#include "model/run_summary.hpp"

namespace cleave {

/// Told now and then how many of how many events are done.
using Progress = std::function<void(std::size_t done, std::size_t all)>;

/// `use_index` false lets the scheduler look at every GPU for every decision; the summary is the same, byte
/// for byte. Asserts that a job that is told to start fits where it starts, by its table of speeds; fails
/// with kind `internal` when the scheduler breaks a law of the hardware.
[[nodiscard]] Result<RunSummary> simulate(const FleetFile& fleet, const Workload& workload,
                                          const SchedulerSpec& spec, std::uint64_t seed,
                                          const Progress& progress = {}, bool use_index = true);

}  // namespace cleave
