#include "simulate/speeds.hpp"

namespace cleave {

Speeds::Speeds(const Workload& workload, const Fleet& fleet) : workload_(&workload) {
  for (const auto& graph : fleet.graphs()) models_.push_back(&graph->geometry().model());
  known_.resize(workload.speeds.size() * models_.size() * columns, unknown);
}

double Speeds::work_out(const Job& job, std::size_t kind, std::size_t column) const {
  const GpuModel& model = *models_[kind];
  SpeedModel timed = workload_->speeds[job.speed];
  if (timed.reference == nullptr) timed.reference = models_.front();
  const auto speed = column == whole_gpu ? speed_on_whole_gpu(timed, model)
                                         : speed_on(timed, model, model.profiles[column]);
  if (!speed) return 0;
  return speed->inferred ? -speed->relative : speed->relative;
}

}  // namespace cleave
