#pragma once
// How fast jobs are that share one GPU instance, and what sharing takes of its memory.
//
// Each job has host work of its own (the fixed part), transfers, and GPU work. A part of its GPU
// work is contested: what other jobs of the instance would do at the same time. With g the GPU work
// and w its contested part, both as times of all of the job's work on its part of the instance, x
// its transfers, a its fixed part, and r = 1 / (time of all its work) its rate,
//
//   x r + ( (a r)^p + ( g r + k sum over the others of min(w r, w' r') )^p )^(1/p) = 1
//
// A job waits for the GPU work that another does in the meantime, but never for more than it does
// itself: turns are fair. The means of sharing differ in what is contested, in k and in a:
//
//   MPS                all GPU work; k = 1 + ov and a grows by ga for each other job
//                      (batch_law.hpp). For equal jobs this is the law that was fitted to 1,327
//                      measurements of up to 5 of them. Unlike jobs were not measured, nor were
//                      percentages. With percentages GPU work is contested as far as processors do
//                      not suffice for all side by side, k = (1 + ov) (wanted / fair - 1) / (n - 1)
//                      with those that the job may use and its max-min fair share of them among all
//                      n; and bandwidth is shared as between compute instances, so that percentages
//                      near 100 come to the law without them.
//   compute instances  no compute. Bandwidth is shared on demand: max-min fair, each job's limited
//                      by what its processors reach, spread over its time as transfers on the link
//                      are (contention.hpp)
//   time slicing       all GPU work; k = 1 + n / (n - 1) times the cost of switching, so that n
//                      equal jobs pay it on all turns. Whether others may use the instance during
//                      a job's fixed part is not known: where `fixed_holds` they may not, and
//                      nothing overlaps.
//
// Limited processors do not reach all bandwidth: STREAM on one of seven compute slices of an A100
// reached 0.32 to 0.45 of it, on three 0.87 to 0.96 (stream_bandwidth.csv of the data folder).

#include <span>

#include "base/quantity.hpp"
#include "model/sharing.hpp"

namespace cleave {

/// What is not known of time slicing.
struct SharingOptions {
  /// What switching adds to each turn, as a share of it. *Taming GPU Underutilization*, IV-A: the
  /// occupancy of Qiskit and hotspot hardly falls (about 0), that of LAMMPS halves (1).
  double switch_cost = 0.1;
  /// The same paper says that the CPU side dominates NekRS, whose occupancy time slicing doubles:
  /// that cannot be if the fixed part holds the instance.
  bool fixed_holds = false;
};
inline constexpr double most_switch_cost = 1;

/// A job in a shared instance: what all of its work takes there while it is alone and may use all
/// of it, by what it needs.
struct SharingJob {
  double transfer = 0;  // at the rate that the link gives it
  double fixed = 0, compute = 0, bandwidth = 0;
  double overlap = 1;  // p
  double part = 1;     // of the instance's processors that it may use, above 0
  double reach = 1;    // of the instance's bandwidth, with those: bandwidth_reach
};

/// The share of an instance's bandwidth that a part of its processors reaches; the instance has
/// these shares of the GPU.
double bandwidth_reach(double part, double compute_share, double memory_share);

/// The time of all of each job's work, beside the others. `times` has as many as `jobs`.
void times_together(SharingMode mode, const SharingOptions& options,
                    std::span<const SharingJob> jobs, std::span<double> times);

/// The memory that several `processes` in one instance need for their contexts together, beyond
/// what each would need as the only one of an instance. *Taming GPU Underutilization*, IV-B: 60 MB
/// a process under MIG, 600 a process under time slicing, 600 in all under MPS.
MiB sharing_memory(SharingMode mode, int processes);

}  // namespace cleave
