#include "physics/contention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cleave {

namespace {

/// Time beside transfers.
double other_time(const SharedLoad& load, double clock) {
  const WorkParts& parts = load.parts;
  const double fixed = parts.fixed * load.fixed_stretch;
  const double gpu = (parts.compute / clock + parts.bandwidth) * load.gpu_stretch;
  if (parts.overlap == 1) return fixed + gpu;
  if (fixed == 0 || gpu == 0) return fixed + gpu;
  const double most = std::max(fixed, gpu);  // powers of what is near 1 stay in range
  return most *
         std::pow(std::pow(fixed / most, parts.overlap) + std::pow(gpu / most, parts.overlap),
                  1 / parts.overlap);
}

/// What crosses the link, in time at the link's full rate.
struct Crossing {
  double copied, direct;  // by copy engines, by processors
  [[nodiscard]] double all() const { return copied + direct; }
};

Crossing crossing(const SharedLoad& load) {
  return {load.parts.transfer * load.fixed_stretch, load.parts.direct * load.fixed_stretch};
}

/// The time that it takes where the link offers each the share `level`.
double link_time(const SharedGpu& gpu, const SharedLoad& load, double level) {
  const Crossing by = crossing(load);
  return by.copied / std::min(level, gpu.instance_link) +
         by.direct / std::min(level, load.direct_link);
}

/// The mean share of the link that a job uses there.
double link_use(const SharedGpu& gpu, const SharedLoad& load, double other, double level) {
  const double all = crossing(load).all();
  return all > 0 ? all / (other + link_time(gpu, load, level)) : 0;
}

/// The share of the link that each may get while it transfers, the same for all.
double link_level(const SharedGpu& gpu, std::span<const SharedLoad> loads) {
  if (gpu.link == LinkSharing::off) return 1;
  double transferring = 0, use = 0;
  for (const SharedLoad& load : loads) {
    if (!(crossing(load).all() > 0)) continue;
    ++transferring;
    use += link_use(gpu, load, other_time(load, 1), 1);
  }
  if (gpu.link == LinkSharing::together) return transferring > 0 ? 1 / transferring : 1;
  if (use <= 1) return 1;
  // What is used grows with the level and bends downwards, so Newton's steps from below stay below.
  double level = 1 / transferring;
  for (int step = 0; step < 100; ++step) {
    double used = 0, slope = 0;
    for (const SharedLoad& load : loads) {
      const Crossing by = crossing(load);
      if (!(by.all() > 0)) continue;
      const double copy = std::min(level, gpu.instance_link);
      const double direct = std::min(level, load.direct_link);
      const double sum =
          other_time(load, 1) * level + by.copied * (level / copy) + by.direct * (level / direct);
      // What is at its own limit already gains nothing from a higher level.
      const double gains =
          (level < gpu.instance_link ? by.copied : 0) + (level < load.direct_link ? by.direct : 0);
      used += by.all() * level / sum;
      slope += by.all() * gains / (sum * sum);
    }
    if (!(used < 1) || !(slope > 0)) break;
    const double next = std::min(1.0, level + (1 - used) / slope);
    if (!(next > level)) break;
    level = next;
  }
  return level;
}

Milliwatts asked_by(const PowerBounds& bounds, const SharedLoad& load, double time) {
  if (!(time > 0)) return {};
  const double compute = load.parts.compute / time, bandwidth = load.parts.bandwidth / time;
  // One load whose share is a mean over the time in which it is busy with either.
  return power_asked(bounds,
                     {load.compute_share * compute + load.memory_share * bandwidth, 1, load.kappa});
}

}  // namespace

double paces_of(const SharedGpu& gpu, std::span<const SharedLoad> loads, std::span<Pace> paces) {
  const double level = link_level(gpu, loads);
  double clock = 1;
  if (gpu.power) {
    std::int64_t asked = 0;
    for (std::size_t i = 0; i < loads.size(); ++i) {
      const double time = link_time(gpu, loads[i], level) + other_time(loads[i], 1);
      paces[i].power = asked_by(*gpu.power, loads[i], time);
      asked += paces[i].power.value;
    }
    if (asked > (gpu.power->cap - gpu.power->idle).value) {
      std::vector<Milliwatts> drawn;
      for (const Pace& pace : paces.first(loads.size())) drawn.push_back(pace.power);
      clock = divide_cap(*gpu.power, gpu.beta, drawn);
      for (std::size_t i = 0; i < loads.size(); ++i) paces[i].power = drawn[i];
    }
  }
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const double other = other_time(loads[i], clock);
    const double time = link_time(gpu, loads[i], level) + other;
    paces[i].speed = time > 0 ? 1 / time : std::numeric_limits<double>::infinity();
    paces[i].link = link_use(gpu, loads[i], other, level);
  }
  return clock;
}

Pace pace_alone(const SharedGpu& gpu, const SharedLoad& load) {
  Pace pace;
  paces_of(gpu, {&load, 1}, {&pace, 1});
  return pace;
}

}  // namespace cleave
