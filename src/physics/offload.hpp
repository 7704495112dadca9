#pragma once
// A job on an instance that is too small for it, part of whose memory is on the host (*Taming GPU
// Underutilization via Static Partitioning and Fine-grained CPU Offloading*, VI-A). Only what does
// not fit is there. Kernels read it in place, so it crosses the link by the instance's processors,
// adds to the time of the work, and shares the link with everything else that does.

#include <optional>

#include "model/job.hpp"
#include "physics/link.hpp"

namespace cleave {

/// What stays on the host where programs can use this much; nullopt where that is more than the job
/// can keep there, or where nobody knows how much can be used.
[[nodiscard]] std::optional<MiB> in_host_memory(const Offload& job, std::optional<MiB> usable);

/// How long that takes to cross the link at the link's full rate during all of the job's work, in
/// units of its time on the whole GPU.
[[nodiscard]] double offload_time(const Offload& job, MiB in_host, const HostLink& link);

}  // namespace cleave
