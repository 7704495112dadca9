#include "simulate/memory_truth.hpp"

#include <algorithm>
#include <cmath>

namespace cleave {

namespace {

constexpr std::int64_t most_iterations_looked_at = 10'000'000;

}  // namespace

const MemoryGrowth& MemoryTruth::growth(std::size_t job) const {
  return *workload_->details_of(workload_->jobs[job])->growth;
}

bool MemoryTruth::grows(const Job& job) const {
  const JobDetails* details = workload_->details_of(job);
  return details != nullptr && details->growth.has_value();
}

std::int64_t MemoryTruth::iterations(const Job& job) const {
  return workload_->details_of(job)->growth->iterations;
}

MiB MemoryTruth::during(std::size_t job, std::int64_t iteration) const {
  return held_during(growth(job), seed_, job, iteration);
}

MemoryReport MemoryTruth::report(std::size_t job, std::int64_t iteration) const {
  return report_of(growth(job), seed_, job, iteration);
}

std::optional<std::int64_t> MemoryTruth::first_beyond(std::size_t job, MiB capacity,
                                                      std::int64_t from) const {
  const MemoryGrowth& g = growth(job);
  // Before this no noise can reach the capacity; where memory does not grow, it is now or never.
  const MiB at_first = g.base + g.context.value_or(MiB{0});
  const double room = static_cast<double>(capacity.value - at_first.value) -
                      most_spreads * static_cast<double>(g.noise.value);
  std::int64_t i = from;
  if (g.per_iteration.value > 0) {
    const double least = std::floor(room / static_cast<double>(g.per_iteration.value));
    if (least >= static_cast<double>(g.iterations)) return std::nullopt;
    i = std::max(i, static_cast<std::int64_t>(least));
  } else if (room >= 0) {
    return std::nullopt;
  }
  const std::int64_t last = std::min(g.iterations, i + most_iterations_looked_at);
  for (; i <= last; ++i)
    if (during(job, i) > capacity) return i;
  return std::nullopt;
}

std::optional<MiB> MemoryTruth::most_held(std::size_t job) const {
  const Job& of = workload_->jobs[job];
  if (grows(of)) {
    // Memory grows but for noise, which stays within this.
    const MemoryGrowth& g = growth(job);
    const double most =
        static_cast<double>(g.base.value + g.context.value_or(MiB{0}).value) +
        static_cast<double>(g.per_iteration.value) * static_cast<double>(g.iterations) +
        most_spreads * static_cast<double>(g.noise.value);
    return MiB{std::llround(most)};
  }
  if (const auto* size = std::get_if<BySize>(&workload_->requests[of.request].wanted))
    return size->memory;
  return std::nullopt;
}

std::optional<double> MemoryTruth::mean_held(const Job& job, double from_share,
                                             double to_share) const {
  if (grows(job)) {
    const MemoryGrowth& g = *workload_->details_of(job)->growth;
    const MiB at_first = g.base + g.context.value_or(MiB{0});
    return static_cast<double>(at_first.value) + static_cast<double>(g.per_iteration.value) *
                                                     static_cast<double>(g.iterations) *
                                                     (from_share + to_share) / 2;
  }
  if (const auto* size = std::get_if<BySize>(&workload_->requests[job.request].wanted))
    return static_cast<double>(size->memory.value);
  return std::nullopt;
}

}  // namespace cleave
