#include "simulate/stop_costs.hpp"

#include <algorithm>
#include <cmath>

namespace cleave {

Duration StopCosts::copy(JobId job, const JobRun& run, double done) const {
  const GpuModel& model = world_->graph((*world_)[run.gpu]).geometry().model();
  return copy_time(host_link(model), run.mode == RunMode::whole, held(job, run, done),
                   *terms_.by_memory);
}

/// Where nothing is known of its memory, it may have all of its place.
MiB StopCosts::held(JobId id, const JobRun& run, double done) const {
  const Job& job = workload_->jobs[index(id)];
  if (memory_->grows(job)) {
    const std::int64_t all = memory_->iterations(job);
    const auto iteration = std::llround(done * static_cast<double>(all));
    return memory_->during(index(id), std::clamp<std::int64_t>(iteration, 1, all));
  }
  if (const auto most = memory_->most_held(index(id))) return *most;
  const Geometry& geometry = world_->graph((*world_)[run.gpu]).geometry();
  const Profile& place =
      run.mode == RunMode::whole ? geometry.model().largest() : *geometry[run.placement].profile;
  return place.usable.value_or(MiB{0});
}

}  // namespace cleave
