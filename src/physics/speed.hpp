#pragma once
// How fast a job runs on an instance, relative to the largest profile of the model it was timed on.
// Three ways, best first: a measured table of speeds; times of phases, of which each is slowed by
// its own resource (host work and transfers by none, compute by SMs, bandwidth-bound work by memory
// slices, one phase after the other); or nothing, in which case speed follows the SMs.

#include <optional>

#include "model/job.hpp"

namespace cleave {

struct Speed {
  double relative;  // to the largest profile of the reference model; above zero
  bool inferred;    // from compute slices, where nobody knows the SMs
};

/// On an instance of `profile`; nullopt when the job does not fit there.
std::optional<Speed> speed_on(const SpeedModel& job, const GpuModel& model, const Profile& profile);

/// On the whole GPU with MIG off: the table's column "none", or where it has none the best speed it
/// lists for this model; without a table all SMs of the GPU work.
std::optional<Speed> speed_on_whole_gpu(const SpeedModel& job, const GpuModel& model);

}  // namespace cleave
