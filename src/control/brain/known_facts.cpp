#include "control/brain/known_facts.hpp"

#include "physics/speed.hpp"

namespace cleave {

namespace {

Duration stretched(Duration time, double speed) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(in_seconds(time) / speed));
}

}  // namespace

std::optional<Duration> KnownFacts::time_on(JobId job, std::size_t kind, int profile) const {
  if (!of(job).expected) return std::nullopt;
  const GpuModel& gpu = model(kind);
  const auto speed = speed_on({}, gpu, gpu.profiles[static_cast<std::size_t>(profile)]);
  if (!speed) return std::nullopt;
  return stretched(*of(job).expected, speed->relative);
}

}  // namespace cleave
