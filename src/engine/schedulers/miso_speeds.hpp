#pragma once
// What `miso` takes a job's speed to be on each profile: from the times that are known of it, from
// its speeds where no times are, or from the SMs where neither are, with an error where one is
// asked for.

#include <vector>

#include "engine/scheduler.hpp"
#include "engine/schedulers/miso_partition.hpp"

namespace cleave {

/// By GPU model (its place among the fleet's), then by index of the profile; 0: the job does not
/// run there.
using PredictedSpeeds = std::vector<std::vector<Millionths>>;

/// Each is the time on the largest profile (where that is not known, the shortest time) over the
/// time on the profile, times 1 + `error` * u, u uniform in [-1, 1] from the setup's seed, job and
/// profile.
PredictedSpeeds predicted_speeds(const SchedulerSetup& setup, JobId job, RequestId request,
                                 double error);

}  // namespace cleave
