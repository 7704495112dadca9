#pragma once
// `alibaba2023`: the pod list of Alibaba's cluster-trace-gpu-v2023 (openb_pod_list_*.csv, Weng et
// al., USENIX ATC 2023). A pod with GPUs is a job. It arrives at creation_time and runs for its
// recorded time, deletion_time - scheduled_time, on the profile that its share of a GPU's compute
// (gpu_milli) maps to, and equally long on every larger one. A pod with several GPUs (num_gpu, each
// with gpu_milli of it) has them on one node, as pods run on one. The file need not be in order of
// time.
//
// Left out, each under the first reason that applies: never scheduled (Pending), no recorded end,
// several GPUs where the options say so. Pods without a GPU are not part of the GPU workload; they
// are only counted (`no_gpu`). Pods that end at the trace's last instant are kept, run until then
// and are counted (`censored`).

#include "simulate/traces/trace.hpp"

namespace cleave {

[[nodiscard]] Result<Workload> read_alibaba2023(std::string_view text, const std::string& place,
                                                const TraceOptions& options);

}  // namespace cleave
