#include "physics/energy_split.hpp"

#include <algorithm>

namespace cleave {

namespace {

__extension__ typedef __int128 Wide;

std::int64_t microseconds_in(Duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::clamp(time, Duration::zero(), longest_split))
      .count();
}

}  // namespace

/// What the first k have together is rounded, and each has the difference.
std::vector<std::int64_t> divide_whole(std::int64_t whole, std::span<const std::int64_t> weights) {
  std::vector<std::int64_t> parts(weights.size());
  Wide sum = 0, together = 0;
  for (const std::int64_t weight : weights) sum += weight;
  if (sum == 0) return parts;
  std::int64_t given = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    together += weights[i];
    const auto until = static_cast<std::int64_t>(whole * together / sum);
    parts[i] = until - given;
    given = until;
  }
  return parts;
}

EnergySplit split_energy(const PowerBounds& bounds, Millijoules energy, Duration over,
                         std::span<const LoadTime> loads) {
  energy = std::clamp(energy, Millijoules{0}, most_energy);
  // By the part of the time, in 2^30ths: with at most 2^28 mW, and what is divided at most 2^50,
  // the products fit.
  std::vector<std::int64_t> asked;
  bool any = false;
  for (const LoadTime& each : loads) {
    const std::int64_t whole = microseconds_in(over),
                       time = std::min(microseconds_in(each.active), whole);
    const auto part = whole == 0 ? 0 : static_cast<std::int64_t>((Wide{time} << 30) / whole);
    asked.push_back(power_asked(bounds, each.load).value * part);
    any = any || asked.back() > 0;
  }
  const auto idle_at_most =
      static_cast<std::int64_t>(Wide{bounds.idle.value} * microseconds_in(over) / 1'000'000);
  EnergySplit split;
  split.idle = any ? std::min(energy, Millijoules{idle_at_most}) : energy;
  for (const std::int64_t part : divide_whole((energy - split.idle).value, asked))
    split.loads.push_back(Millijoules{part});
  return split;
}

bool is_plausible(const PowerBounds& bounds, Millijoules energy, Duration over) {
  constexpr std::int64_t times = 4, slack_us = 1'000'000;
  const Wide most = Wide{bounds.cap.value} * times * (microseconds_in(over) + slack_us) / 1'000'000;
  return energy.value >= 0 && energy <= most_energy && energy.value <= most;
}

}  // namespace cleave
