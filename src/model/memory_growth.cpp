#include "model/memory_growth.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace cleave {

namespace {

constexpr double most_mib = 1e15;
/// Makes the draws of the requests independent of those of the memory.
constexpr std::uint64_t requests_stream = 0x9e3779b97f4a7c15;

double noise_of(std::uint64_t seed, std::uint64_t job, std::int64_t iteration) {
  return std::clamp(normal_of(seed, job, static_cast<std::uint64_t>(iteration)), -most_spreads,
                    most_spreads);
}

MiB rounded(double mib) {
  return MiB{std::max<std::int64_t>(0, std::llround(std::min(mib, most_mib)))};
}

}  // namespace

MiB allocated_during(const MemoryGrowth& growth, std::uint64_t seed, std::uint64_t job,
                     std::int64_t iteration) {
  double memory = static_cast<double>(growth.base.value) +
                  static_cast<double>(growth.per_iteration.value) * static_cast<double>(iteration);
  if (growth.noise.value != 0)
    memory += static_cast<double>(growth.noise.value) * noise_of(seed, job, iteration);
  return rounded(memory);
}

MiB held_during(const MemoryGrowth& growth, std::uint64_t seed, std::uint64_t job,
                std::int64_t iteration) {
  return allocated_during(growth, seed, job, iteration) + growth.context.value_or(MiB{0});
}

MemoryReport report_of(const MemoryGrowth& growth, std::uint64_t seed, std::uint64_t job,
                       std::int64_t iteration) {
  const MiB allocated = allocated_during(growth, seed, job, iteration);
  MemoryReport report{iteration, growth.iterations, allocated, allocated};
  const bool reuses = growth.reuse_ratio != 1 || growth.reuse_noise > 0;
  if (!growth.context && !reuses) return report;
  double ratio = growth.reuse_ratio;
  if (growth.reuse_noise > 0)
    ratio *= 1 + growth.reuse_noise * noise_of(seed ^ requests_stream, job, iteration);
  report.requested = rounded(static_cast<double>(allocated.value) * ratio);
  report.context = growth.context.value_or(MiB{0});
  report.workspace = MiB{0};  // in what it holds
  return report;
}

}  // namespace cleave
