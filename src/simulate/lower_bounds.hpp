#pragma once
// Times that no scheduler can beat on a fleet, so that results can be read against what is possible
// and not only against each other. Each is the optimum of an easier problem: everything that costs
// time is left out (changes of instances, starts, checkpoints, neighbours on the link, the cap,
// lost GPUs, work of the fleet's own), jobs may be stopped, moved and cut up for nothing, and
// layouts do not matter, only the sums of slices do.
//
// What is proven in lower_bounds.cpp holds where each instance has at most one job. Jobs that share
// an instance may together do more than one after the other (one computes while another waits for
// its host; docs/simulated-world.md), so that slices say nothing of their number. Of such runs only
// `shared` holds: that no job is faster than by itself. RunSummary::shared_starts says which runs
// they are. Offloading is in both: a job that offloads has its speed on the small instance.
//
// A job of several places holds its least as many times, and is never faster than one process.
//
// Simulated times are whole nanoseconds, and a bound may exceed one by as much for each change of a
// job's speed.

#include <vector>

#include "model/fleet_file.hpp"
#include "model/job.hpp"
#include "simulate/world_terms.hpp"

namespace cleave {

/// In seconds: from the first arrival of the workload to the last end of these jobs, and the mean
/// of their turnarounds.
struct TimeBounds {
  double makespan_s = 0, turnaround_mean_s = 0;
  friend bool operator==(const TimeBounds&, const TimeBounds&) = default;
};

/// For runs in which no instance is shared, and for all.
struct LowerBounds {
  TimeBounds apart, shared;
};

/// Of runs that finish these jobs of the workload, and perhaps others. Only batches count: services
/// have no work that ends, and leases end when the person leaves or they are given back.
[[nodiscard]] LowerBounds lower_bounds(const FleetFile& fleet, const Workload& workload,
                                       const WorldTerms& terms, const std::vector<bool>& jobs);

/// A job of the easier problem: it can begin at `arrival`, needs `work` of a machine that does one
/// unit a second, and takes at least `shortest`; all in seconds.
struct FluidJob {
  double arrival = 0, work = 0, shortest = 0;
};

/// By arrival. The least sum of completion times less arrivals on that machine, if jobs may be
/// interrupted at any time and several may have parts of it.
[[nodiscard]] double least_flow(const std::vector<FluidJob>& jobs);
/// The same bounded in another way: by the mean time at which each job's work is done.
[[nodiscard]] double least_mean_busy_flow(const std::vector<FluidJob>& jobs);

}  // namespace cleave
