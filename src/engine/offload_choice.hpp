#pragma once
// Whether a job that offloads should take a smaller instance where none of the size it asks for is
// free (*Taming GPU Underutilization via Static Partitioning and Fine-grained CPU Offloading*, VI).
// The paper's reward needs occupancies, which nobody knows before the job has run. What is known is
// how long the work takes on either; so the rule is the speed for each memory slice that it holds.
// Without it a job whose memory is touched often would hold its instance for a long time: over 20
// seeds with some such jobs the mean turnaround was then twice to three times as long as without
// offloading, and a quarter shorter with it (docs/schedulers.md).

#include "engine/job_facts.hpp"
#include "placement/fleet.hpp"
#include "placement/request_table.hpp"

namespace cleave {

/// Whether this placement on a GPU of the model `kind` gives the job at least as much speed for a
/// memory slice as the size that it asks for. Yes where the model has no such size, no where the
/// times are not known.
[[nodiscard]] bool worth_offloading(const JobFacts* facts, const Fleet& fleet,
                                    const ResolvedRequest& asked, JobId job, std::size_t kind,
                                    PlacementId placement);

}  // namespace cleave
