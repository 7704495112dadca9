#pragma once
// Alibaba's cluster-trace-v2026-GenAI: requests to generate images, each for one base model. They
// become services, one for each base model.

#include "simulate/traces/trace.hpp"

namespace cleave {

/// Of a replica; the trace has no memory of single requests. Near the median that its pods held on
/// their GPUs, 23,674 MiB.
inline constexpr MiB genai_replica_memory{24 * 1024};
/// The share of its time that a replica works in the hour of most requests.
inline constexpr double genai_most_busy = 0.7;

/// A service has the load of each hour, as many replicas as its busiest hour needs, and serves as
/// fast as its requests took.
[[nodiscard]] Result<Workload> read_alibaba2026(std::string_view text, const std::string& place,
                                                const TraceOptions& options);

}  // namespace cleave
