#pragma once
// `philly`: jobs of Microsoft's Philly cluster (Jeon et al., USENIX ATC 2019), in the CSV file that
// the artifact of Pollux (OSDI 2021) extracted from msr-fiddle/philly-traces: timestamp, duration,
// num_gpus, gpu_time, cluster. A job arrives at its timestamp, counted from the earliest one in the
// file, and runs for its duration on its GPUs. On which machines they were, the file does not say.
// It need not be in order of time; timestamps have no time zone. Ids are philly-000001 and on, by
// arrival among all records.
//
// The trace records no share of a GPU. Every job had whole ones, and that is what it asks for by
// default (`--shares whole`), so MIG has nothing to gain. With `--shares alibaba` each job of one
// GPU asks for a share drawn with the run's seed in the proportions of the 3,078 pods of Alibaba's
// cluster-trace-gpu-v2023 that share a GPU (openb_pod_list_default.csv, gpu_milli below 1000). This
// is an assumption, which every result states; it shows what a cluster would gain if its jobs were
// like those pods. The recorded time is then that on the profile the share maps to and on every
// larger one, as in `alibaba2023`.
//
// Left out, each under the first reason that applies: several GPUs where the options say so, no run
// time.

#include "simulate/traces/trace.hpp"

namespace cleave {

[[nodiscard]] Result<Workload> read_philly(std::string_view text, const std::string& place,
                                           const TraceOptions& options);

}  // namespace cleave
