#pragma once
// `miso`: the training jobs of MISO's experiment (Li et al., SoCC 2022;
// github.com/boringlee24/socc22-miso, its 100 jobs as jobs_100.csv): job, model, batch_size,
// runtime_on_full_gpu_s, iterations. Speeds on an A100-40GB's profiles are the authors' own
// measurements, physics/measured_speeds.hpp; a pair of model and batch without measurements is left
// out ("speeds not measured"). MIG off was not measured: the table has no "none", so a whole GPU
// without MIG counts as fast as the best profile (physics/speed.hpp), although it has 108 SMs
// instead of 98. Jobs of deepspeech2 are kept and counted (`speeds_unreliable`): their batches
// differ so much in length that the measured speeds mean little.
//
// Arrivals are not in the file. As the authors did, this reader draws them, with exponential gaps
// of mean 60 s (`--gap`) from the run's seed, jobs in the order of the file, the first at 0.
//
// A job's memory is known only from the profiles on which it ran: it asks for the smallest of
// these. Model and batch are its application, and its run time over its iterations is the latency
// of a batch.

#include "simulate/traces/trace.hpp"

namespace cleave {

[[nodiscard]] Result<Workload> read_miso(std::string_view text, const std::string& place,
                                         const TraceOptions& options);

}  // namespace cleave
