#include "simulate/measure.hpp"

#include <algorithm>

namespace cleave {

Measure::Measure(const World& world, Instant begin)
    : world_(&world), begin_(begin), sums_(world.gpus().size()) {
  for (Sum& sum : sums_) sum.since = begin;
}

Measure::Start& Measure::start_of(GpuId gpu, std::size_t which) {
  auto& near = sums_[index(gpu)].next;
  return which < near.size()
             ? near[which]
             : more_starts_[static_cast<std::uint32_t>(index(gpu))][which - near.size()];
}

void Measure::push(GpuId gpu, const Start& start) {
  Sum& sum = sums_[index(gpu)];
  if (sum.starts >= sum.next.size())
    more_starts_[static_cast<std::uint32_t>(index(gpu))].emplace_back();
  start_of(gpu, sum.starts++) = start;
}

void Measure::erase(GpuId gpu, std::size_t which) {
  Sum& sum = sums_[index(gpu)];
  for (std::size_t i = which; i + 1 < sum.starts; ++i) start_of(gpu, i) = start_of(gpu, i + 1);
  if (--sum.starts < sum.next.size()) return;
  const auto more = more_starts_.find(static_cast<std::uint32_t>(index(gpu)));
  more->second.pop_back();
  if (more->second.empty()) more_starts_.erase(more);
}

void Measure::add_speed(GpuId id, double speed, Instant from) {
  Sum& sum = sums_[index(id)];
  if (from <= sum.since) {
    sum.speed += speed;
  } else {
    push(id, {from, speed});
  }
}

void Measure::remove_speed(GpuId id, double speed, Instant from) {
  Sum& sum = sums_[index(id)];
  if (from <= sum.since) {
    sum.speed -= speed;
    return;
  }
  for (std::size_t i = 0; i < sum.starts; ++i)
    if (start_of(id, i) == Start{from, speed}) return erase(id, i);
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
  for (std::size_t i = sum.starts; i-- > 0;) {
    const Start start = start_of(id, i);
    if (start.from > now) continue;
    throughput_ += share * start.speed * in_seconds(now - start.from);
    sum.speed += start.speed;
    erase(id, i);
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
