#include "simulate/speeds.hpp"

#include <algorithm>

#include "physics/link.hpp"
#include "physics/offload.hpp"

namespace cleave {

Speeds::Speeds(const Workload& workload, const Fleet& fleet, const WorldTerms& terms)
    : workload_(&workload) {
  for (const auto& graph : fleet.graphs()) {
    const GpuModel& model = graph->geometry().model();
    models_.push_back(&model);
    columns_ = std::max(columns_, model.profiles.size() + 1);
    SharedGpu gpu{.link = terms.link, .beta = terms.power.beta, .sharing = terms.sharing};
    if (terms.has_power) gpu.power = power_bounds(model, terms.power);
    whole_.push_back(gpu);
    if (terms.link != LinkSharing::off) gpu.instance_link = host_link(model).instance_share();
    in_slices_.push_back(gpu);
  }
  for (const SpeedModel& speed : workload.speeds) {
    transfers_.push_back(terms.link != LinkSharing::off && uses_link(speed) ? 1 : 0);
    offloads_.push_back(speed.offload ? 1 : 0);
  }
  known_.resize(workload.speeds.size() * models_.size() * columns_);
  loads_.resize(known_.size());
}

SpeedModel Speeds::timed(const Job& job) const {
  SpeedModel speed = workload_->speeds[job.speed];
  if (speed.reference == nullptr) speed.reference = models_.front();
  return speed;
}

SharedLoad Speeds::load_of(const SpeedModel& speed, std::size_t kind, std::size_t profile) const {
  const GpuModel& model = *models_[kind];
  const bool whole = profile == whole_gpu;
  SharedLoad load;
  load.parts = parts_on(speed, model, whole ? nullptr : &model.profiles[profile],
                        shared(kind, profile).instance_link)
                   .value_or(WorkParts{});
  load.kappa = speed.kappa;
  if (whole) {
    load.compute_share = load.memory_share = 1;
  } else {
    const Profile& slice = model.profiles[profile];
    load.compute_share = static_cast<double>(slice.compute.value) / model.compute.value;
    load.memory_share = static_cast<double>(slice.memory.value) / model.memory_slices.value;
    if (speed.offload) load.direct_link = host_link(model).direct_share(slice.compute);
  }
  return load;
}

Speeds::Known Speeds::work_out(const Job& job, std::size_t kind, std::size_t profile,
                               SharedLoad& load) const {
  const GpuModel& model = *models_[kind];
  const SpeedModel of = timed(job);
  const auto speed = profile == whole_gpu ? speed_on_whole_gpu(of, model)
                                          : speed_on(of, model, model.profiles[profile]);
  if (!speed) return {0, 0, 0};
  SharedGpu gpu = shared(kind, profile);
  if (gpu.power) gpu.power->cap = Milliwatts{INT32_MAX};  // what it asks for
  load = load_of(of, kind, profile);
  const Pace pace = pace_alone(gpu, load);
  // Copy engines may carry less than the link; tables were measured with them.
  const bool slower =
      (transfers(job) && gpu.instance_link < 1 && !of.table) || load.parts.direct > 0;
  const double alone = slower ? pace.speed : speed->relative;
  return {speed->inferred ? -alone : alone, static_cast<std::int32_t>(pace.power.value),
          static_cast<std::uint32_t>(std::ceil(pace.link * whole_link))};
}

std::optional<MiB> Speeds::host_memory(const Job& job, std::optional<MiB> usable) const {
  const auto& offload = workload_->speeds[job.speed].offload;
  return offload ? in_host_memory(*offload, usable) : std::nullopt;
}

}  // namespace cleave
