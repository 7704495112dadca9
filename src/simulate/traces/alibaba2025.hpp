#pragma once
// Alibaba's cluster-trace-gpu-v2025 (Yang et al., "GPU-Disaggregated Serving for Deep Learning
// Recommendation Models at Scale", NSDI 2025): instances of services, those of role HN with a GPU.

#include "simulate/traces/trace.hpp"

namespace cleave {

/// An instance that was there when the trace begins arrives then; one that is there at its end runs
/// until then. Rows without a GPU are counted in the notes.
[[nodiscard]] Result<Workload> read_alibaba2025(std::string_view text, const std::string& place,
                                                const TraceOptions& options);

}  // namespace cleave
