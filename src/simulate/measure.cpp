#include "simulate/measure.hpp"

#include <algorithm>

namespace cleave {

Measure::Measure(const World& world, Instant begin)
    : world_(&world),
      begin_(begin),
      sums_(world.gpus().size(), Sum{begin, 0, 0}),
      starts_(world.gpus().size()) {}

void Measure::add_speed(GpuId id, double speed, Instant from) {
  Sum& sum = sums_[index(id)];
  if (from <= sum.since) {
    sum.speed += speed;
    return;
  }
  starts_[index(id)].push_back({from, speed});
  ++sum.starts;
}

void Measure::remove_speed(GpuId id, double speed, Instant from) {
  Sum& sum = sums_[index(id)];
  if (from <= sum.since) {
    sum.speed -= speed;
    return;
  }
  starts_[index(id)].erase({from, speed});
  --sum.starts;
}

void Measure::before_change(GpuId id, Instant now) {
  Sum& sum = sums_[index(id)];
  const double seconds = in_seconds(now - sum.since);
  if (seconds <= 0) return;
  sum.since = now;
  const SimulatedGpu& gpu = world_->gpus()[index(id)];
  compute_ += gpu.held_compute * seconds;
  memory_ += gpu.held_memory * seconds;
  // A whole GPU with MIG off is full: nothing fits by size either.
  if (!gpu.whole) fragmentation_ += world_->graph(gpu).cost(gpu.occupied).units * seconds;
  // Dyna-P, equation 5: m, the share of slices in use, times the sum of relative speeds.
  const double share =
      static_cast<double>(gpu.held_compute) / world_->graph(gpu).geometry().model().compute.value;
  throughput_ += share * sum.speed * seconds;
  if (sum.starts == 0) return;
  for (std::size_t i = starts_[index(id)].all().size(); i-- > 0;) {
    const Start start = starts_[index(id)].all()[i];
    if (start.from > now) continue;
    throughput_ += share * start.speed * in_seconds(now - start.from);
    sum.speed += start.speed;
    --sum.starts;
    starts_[index(id)].erase(start);
  }
}

void Measure::finish(Instant end, RunSummary& summary) {
  // What was stopped or lost after the last end counts too.
  for (const Sum& sum : sums_) end = std::max(end, sum.since);
  double compute_slices = 0, memory_slices = 0;
  for (std::size_t i = 0; i < world_->gpus().size(); ++i) {
    before_change(static_cast<GpuId>(i), end);
    const GpuModel& model = world_->graph(world_->gpus()[i]).geometry().model();
    compute_slices += model.compute.value;
    memory_slices += model.memory_slices.value;
  }
  const double seconds = in_seconds(end - begin_);
  if (seconds <= 0) return;
  const double gpu_seconds = static_cast<double>(world_->gpus().size()) * seconds;
  summary.compute_utilization = compute_ / (compute_slices * seconds);
  summary.memory_allocated_utilization = memory_ / (memory_slices * seconds);
  summary.fragmentation_mean = fragmentation_ / FragmentationCost::denominator / gpu_seconds;
  summary.system_throughput = throughput_ / gpu_seconds;
}

}  // namespace cleave
