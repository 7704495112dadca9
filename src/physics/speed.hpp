#pragma once
// How fast a job runs on an instance, relative to the largest profile of the model it was timed on.
// Four ways, best first: a measured table of speeds, where two profiles may give the others
// (speed_law.hpp); the floor and the GPU-bound part of its time, by the same law; times of phases
// that follow one another, each slowed by its own resource (host work and transfers by none,
// compute by SMs, bandwidth-bound work by memory slices); or nothing, in which case speed is
// proportional to the SMs.

#include <optional>

#include "model/job.hpp"
#include "physics/contention.hpp"

namespace cleave {

/// A speed, and how it is known.
struct Speed {
  double relative;  // to the largest profile of the reference model; above zero
  bool inferred;    // from compute slices, because the SMs are unknown
};

/// The speed on an instance of `profile`; empty if the job does not fit there. The price
/// of offloading (physics/offload.hpp) is not in it; it is in the parts.
std::optional<Speed> speed_on(const SpeedModel& job, const GpuModel& model, const Profile& profile);

/// The speed on the whole GPU with MIG off: the table's column "none", or else the best speed it
/// lists for this model; without a table that of all SMs.
std::optional<Speed> speed_on_whole_gpu(const SpeedModel& job, const GpuModel& model);

/// Whether the job may use the link to the host.
[[nodiscard]] bool uses_link(const SpeedModel& job);

/// What the job's work takes on the profile, or on the whole GPU with MIG off where that is null,
/// by what it needs. Where the parts are not known, all but transfers counts as compute. Tables
/// were measured on the instance, where transfers had `instance_link` of the link and memory that
/// does not fit was on the host. Empty if the job does not fit there.
std::optional<WorkParts> parts_on(const SpeedModel& job, const GpuModel& model,
                                  const Profile* profile, double instance_link = 1);

}  // namespace cleave
