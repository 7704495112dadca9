#include "physics/contention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace cleave {

namespace {

/// Time beside transfers.
double other_time(const SharedLoad& load, double clock) {
  const WorkParts& parts = load.parts;
  const double fixed = parts.fixed;
  const double gpu = parts.compute / clock + parts.bandwidth;
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
  return {load.parts.transfer, load.parts.direct};
}

/// The time that it takes where the link offers each the share `level`, and copy engines `copies`
/// of it.
double link_time(const SharedLoad& load, double level, double copies) {
  const Crossing by = crossing(load);
  return by.copied / std::min(level, copies) + by.direct / std::min(level, load.direct_link);
}
double link_time(const SharedGpu& gpu, const SharedLoad& load, double level) {
  return link_time(load, level, gpu.instance_link);
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

/// While all of the load's work takes `time`.
Milliwatts asked_by(const PowerBounds& bounds, const SharedLoad& load, double time) {
  if (!(time > 0)) return {};
  const double compute = load.parts.compute / time, bandwidth = load.parts.bandwidth / time;
  // One load whose share is a mean over the time in which it is busy with either.
  return power_asked(bounds,
                     {load.compute_share * compute + load.memory_share * bandwidth, 1, load.kappa});
}

/// Cuts the powers to what the cap leaves; returns the clock.
double cut_to_cap(const SharedGpu& gpu, std::span<Pace> paces) {
  std::vector<Milliwatts> drawn;
  for (const Pace& pace : paces) drawn.push_back(pace.power);
  const double clock = divide_cap(*gpu.power, gpu.beta, drawn);
  for (std::size_t i = 0; i < paces.size(); ++i) paces[i].power = drawn[i];
  return clock;
}

double speed_of(double time) {
  return time > 0 ? 1 / time : std::numeric_limits<double>::infinity();
}

/// A GPU on which jobs share instances. There, how long one takes depends on the others.
class SharingGpu {
 public:
  SharingGpu(const SharedGpu& gpu, std::span<const SharedLoad> loads) : gpu_(gpu), loads_(loads) {
    for (std::size_t i = 0; i < loads.size(); ++i) {
      const std::uint8_t instance = loads[i].instance;
      if (instance > 0) instances_[instance].push_back(i);
    }
  }

  /// The time of all of each load's work.
  [[nodiscard]] std::vector<double> times(double level, double clock) const {
    std::vector<double> all(loads_.size());
    for (std::size_t i = 0; i < loads_.size(); ++i)
      if (loads_[i].instance == 0)
        all[i] = link_time(gpu_, loads_[i], level) + other_time(loads_[i], clock);
    for (const auto& [instance, which] : instances_) {
      const double copies = copy_level(which, level, clock, all);
      in_instance(which, level, copies, clock, all);
    }
    return all;
  }

  /// The share of the link that each may get while it transfers, the same for all.
  [[nodiscard]] double link_level(double clock) const {
    const auto transferring = static_cast<double>(std::ranges::count_if(
        loads_, [](const SharedLoad& load) { return crossing(load).all() > 0; }));
    if (gpu_.link == LinkSharing::off || transferring == 0) return 1;
    if (gpu_.link == LinkSharing::together) return 1 / transferring;
    if (use(times(1, clock)) <= 1) return 1;
    double low = 1 / transferring, high = 1;
    for (int step = 0; step < 60; ++step) {
      const double middle = (low + high) / 2;
      (use(times(middle, clock)) > 1 ? high : low) = middle;
    }
    return low;
  }

  /// Writes what each load asks for, and returns the sum. The jobs of an instance keep its
  /// processors, and its memory, busy all the time at most.
  Milliwatts ask(std::span<const double> times, std::span<Pace> paces) const {
    std::vector<SharedLoad> loads(loads_.begin(), loads_.end());
    for (const auto& [instance, which] : instances_) {
      for (const auto part : {&WorkParts::compute, &WorkParts::bandwidth}) {
        double busy = 0;
        for (const std::size_t i : which)
          if (times[i] > 0) busy += loads[i].parts.*part / times[i];
        for (const std::size_t i : which) loads[i].parts.*part /= std::max(1.0, busy);
      }
    }
    Milliwatts asked;
    for (std::size_t i = 0; i < loads.size(); ++i) {
      paces[i].power = asked_by(*gpu_.power, loads[i], times[i]);
      asked += paces[i].power;
    }
    return asked;
  }

  /// The mean share of the link that a load uses.
  [[nodiscard]] double use(std::size_t which, double time) const {
    const double all = crossing(loads_[which]).all();
    return all > 0 ? all / time : 0;
  }

 private:
  [[nodiscard]] double use(const std::vector<double>& times) const {
    double sum = 0;
    for (std::size_t i = 0; i < loads_.size(); ++i) sum += use(i, times[i]);
    return sum;
  }

  using Which = std::vector<std::size_t>;  // loads of one instance

  /// The time of all of each one's work.
  void in_instance(const Which& which, double level, double copies, double clock,
                   std::vector<double>& times) const {
    std::vector<SharingJob> jobs;
    std::vector<double> together(which.size());
    for (const std::size_t i : which) jobs.push_back(sharing_job(loads_[i], level, copies, clock));
    times_together(loads_[which.front()].sharing, gpu_.sharing, jobs, together);
    for (std::size_t i = 0; i < which.size(); ++i) times[which[i]] = together[i];
  }

  /// The share of the link that each gets by the copy engines of the instance, which they share as
  /// all share the link. Overwrites times.
  double copy_level(const Which& which, double level, double clock,
                    std::vector<double>& times) const {
    const double most = gpu_.instance_link;
    const auto copying = static_cast<double>(std::ranges::count_if(
        which, [&](std::size_t i) { return crossing(loads_[i]).copied > 0; }));
    if (gpu_.link == LinkSharing::off || most == 1 || copying < 2) return most;
    if (gpu_.link == LinkSharing::together) return most / copying;
    const auto is_enough = [&](double copies) {
      in_instance(which, level, copies, clock, times);
      double use = 0;
      for (const std::size_t i : which)
        if (const double copied = crossing(loads_[i]).copied; copied > 0) use += copied / times[i];
      return use <= most;
    };
    if (is_enough(most)) return most;
    double low = most / copying, high = most;
    for (int step = 0; step < 60; ++step) {
      const double middle = (low + high) / 2;
      (is_enough(middle) ? low : high) = middle;
    }
    return low;
  }

  [[nodiscard]] SharingJob sharing_job(const SharedLoad& load, double level, double copies,
                                       double clock) const {
    const WorkParts& parts = load.parts;
    return {.transfer = link_time(load, level, copies),
            .fixed = parts.fixed,
            .compute = parts.compute / clock,
            .bandwidth = parts.bandwidth,
            .overlap = parts.overlap,
            .part = load.part,
            .reach = bandwidth_reach(load.part, load.compute_share, load.memory_share)};
  }

  const SharedGpu& gpu_;
  std::span<const SharedLoad> loads_;
  std::map<std::uint8_t, std::vector<std::size_t>> instances_;  // loads of each shared one
};

double paces_with_sharing(const SharedGpu& gpu, std::span<const SharedLoad> loads,
                          std::span<Pace> paces) {
  const SharingGpu sharing(gpu, loads);
  std::vector<double> times = sharing.times(sharing.link_level(1), 1);
  double clock = 1;
  if (gpu.power && sharing.ask(times, paces) > gpu.power->cap - gpu.power->idle) {
    clock = cut_to_cap(gpu, paces.first(loads.size()));
    times = sharing.times(sharing.link_level(clock), clock);
  }
  for (std::size_t i = 0; i < loads.size(); ++i) {
    paces[i].speed = speed_of(times[i]);
    paces[i].link = sharing.use(i, times[i]);
  }
  return clock;
}

}  // namespace

double paces_of(const SharedGpu& gpu, std::span<const SharedLoad> loads, std::span<Pace> paces) {
  if (std::ranges::any_of(loads, [](const SharedLoad& load) { return load.instance > 0; }))
    return paces_with_sharing(gpu, loads, paces);
  const double level = link_level(gpu, loads);
  double clock = 1;
  if (gpu.power) {
    std::int64_t asked = 0;
    for (std::size_t i = 0; i < loads.size(); ++i) {
      const double time = link_time(gpu, loads[i], level) + other_time(loads[i], 1);
      paces[i].power = asked_by(*gpu.power, loads[i], time);
      asked += paces[i].power.value;
    }
    if (asked > (gpu.power->cap - gpu.power->idle).value)
      clock = cut_to_cap(gpu, paces.first(loads.size()));
  }
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const double other = other_time(loads[i], clock);
    paces[i].speed = speed_of(link_time(gpu, loads[i], level) + other);
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
