// Which instances hold a forecast, and what has to be offloaded for those that do not.

#include <algorithm>

#include "forecast/shape/model_memory.hpp"
#include "forecast/shape/saturating.hpp"

namespace cleave {

namespace {

std::uint64_t bytes_in(MiB memory) {
  return saturating_multiply(static_cast<std::uint64_t>(std::max<std::int64_t>(memory.value, 0)),
                             bytes_per_mib);
}

/// Memory in equal chunks, one for each layer.
struct Chunks {
  std::uint64_t bytes, layers;

  /// The fewest whole chunks that hold `wanted`, or all of them.
  [[nodiscard]] std::uint64_t count_for(std::uint64_t wanted) const {
    if (bytes == 0 || layers == 0) return 0;
    if (wanted >= bytes) return layers;
    return static_cast<std::uint64_t>((static_cast<__uint128_t>(wanted) * layers + bytes - 1) /
                                      bytes);
  }
  [[nodiscard]] std::uint64_t size_of(std::uint64_t count) const {
    return layers == 0
               ? 0
               : static_cast<std::uint64_t>(static_cast<__uint128_t>(bytes) * count / layers);
  }
};

}  // namespace

std::uint64_t OffloadPlan::total() const {
  return saturating_add(saturating_add(optimizer, gradients), saturating_add(weights, kv_cache));
}

OffloadPlan plan_offload(const MemoryForecast& forecast, MiB room) {
  OffloadPlan plan;
  const std::uint64_t total = forecast.total(), most = bytes_in(room);
  std::uint64_t over = total > most ? total - most : 0;
  const auto move = [&](std::uint64_t bytes, std::uint64_t& moved) {
    const Chunks chunks{bytes, forecast.layers};
    moved = chunks.size_of(chunks.count_for(over));
    over -= std::min(over, moved);
  };
  move(forecast.bytes(Part::optimizer), plan.optimizer);
  move(forecast.bytes(Part::gradients), plan.gradients);
  if (over > 0) {
    const Chunks chunks{forecast.layered_weights, forecast.layers};
    // Offloaded layers pass one by one through a buffer on the GPU.
    plan.layers = chunks.count_for(saturating_add(over, chunks.size_of(1)));
    plan.weights = chunks.size_of(plan.layers);
    over -= std::min(over, plan.weights - std::min(plan.weights, chunks.size_of(1)));
  }
  move(forecast.bytes(Part::kv_cache), plan.kv_cache);
  plan.fits = over == 0;
  return plan;
}

std::vector<ProfileFit> profile_fits(const MemoryForecast& forecast, const GpuModel& gpu) {
  std::vector<ProfileFit> fits;
  const std::uint64_t cache = forecast.bytes(Part::kv_cache);
  const std::uint64_t rest = forecast.total() - std::min(cache, forecast.total());
  for (const Profile& profile : gpu.profiles) {
    if (profile.attribute != Attribute::none) continue;
    ProfileFit fit;
    fit.profile = &profile;
    if (profile.usable) {
      const std::uint64_t room = bytes_in(*profile.usable);
      fit.fits = forecast.total() <= room;
      if (forecast.kv_per_sequence > 0)
        fit.sequences = room > rest ? (room - rest) / forecast.kv_per_sequence : 0;
      if (!*fit.fits) fit.offload = plan_offload(forecast, *profile.usable);
    }
    fits.push_back(fit);
  }
  return fits;
}

const Profile* smallest_that_holds(MiB memory, const GpuModel& gpu) {
  const Profile* best = nullptr;
  for (const Profile& profile : gpu.profiles) {
    if (profile.attribute != Attribute::none || !profile.usable || *profile.usable < memory)
      continue;
    if (best == nullptr || *profile.usable < *best->usable ||
        (*profile.usable == *best->usable && profile.compute < best->compute))
      best = &profile;
  }
  return best;
}

}  // namespace cleave
