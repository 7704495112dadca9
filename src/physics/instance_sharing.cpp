#include "physics/instance_sharing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "physics/batch_law.hpp"

namespace cleave {

namespace {

/// In the rate r of a job: transfer r + ( (fixed r)^p + (gpu r + waits)^p )^(1/p) = 1.
struct RateEquation {
  double transfer, fixed, gpu, waits, overlap;
  friend bool operator==(const RateEquation&, const RateEquation&) = default;
};

/// The rate; infinite where no work takes time. `waits` is below 1.
double rate_of(const RateEquation& of) {
  if (of.fixed == 0 || of.overlap == 1) {
    const double all = of.transfer + of.fixed + of.gpu;
    return all > 0 ? (1 - of.waits) / all : std::numeric_limits<double>::infinity();
  }
  if (of.gpu == 0 && of.waits == 0) return 1 / (of.transfer + of.fixed);
  // The left side is convex and grows, so Newton's steps from above stay above.
  double rate = std::min(1 / (of.transfer + of.fixed), (1 - of.waits) / (of.transfer + of.gpu));
  for (int step = 0; step < 100; ++step) {
    const double fixed = of.fixed * rate, gpu = of.gpu * rate + of.waits;
    const double most = std::max(fixed, gpu);
    const double a = std::pow(fixed / most, of.overlap), b = std::pow(gpu / most, of.overlap);
    const double joined = most * std::pow(a + b, 1 / of.overlap);
    const double above = of.transfer * rate + joined - 1;
    const double slope = of.transfer + joined / (a + b) * (a * of.fixed / fixed + b * of.gpu / gpu);
    const double next = rate - above / slope;
    if (!(next < rate)) break;
    rate = next;
  }
  return rate;
}

/// By how much a job with this limit is slowed when all others use the resource too, for each of
/// them. 0: all find room side by side; 1: each other job takes as much time as its own.
double crowding(std::span<const double> limits, double limit) {
  if (limits.size() < 2) return 0;
  double left = 1;
  std::size_t sharing = limits.size();
  for (const double each : limits) {  // ascending
    if (each * static_cast<double>(sharing) > left) break;
    left -= each;
    --sharing;
  }
  const double level = sharing > 0 ? left / static_cast<double>(sharing) : 1;
  const double gets = std::min(limit, level);
  return (limit / gets - 1) / static_cast<double>(limits.size() - 1);
}

/// A job as the others see it: it waits for `crowding` times what each of them does of `contested`
/// work while it does its own, and never for more than its own.
struct Contender {
  RateEquation alone;
  double contested, crowding;
  std::size_t which;

  [[nodiscard]] bool is_like(const Contender& other) const {
    return alone == other.alone && contested == other.contested && crowding == other.crowding;
  }
};

/// Jobs in one instance, as far as their pace depends on nothing else.
class JobsTogether {
 public:
  JobsTogether(SharingMode mode, const SharingOptions& options, std::span<const SharingJob> jobs)
      : mode_(mode), options_(options), jobs_(jobs), others_(static_cast<double>(jobs.size() - 1)) {
    for (const SharingJob& job : jobs) parts_.push_back(job.part);
    std::ranges::sort(parts_);
    limited_ = mode == SharingMode::compute_instances ||
               (mode == SharingMode::mps &&
                std::ranges::any_of(jobs, [](const SharingJob& job) { return job.part < 1; }));
  }

  /// Whether bandwidth is shared for itself, and not only as a part of all GPU work.
  [[nodiscard]] bool shares_bandwidth() const { return limited_; }
  /// What the mean shares of it that the jobs use may add up to. Work that competes under MPS is a
  /// little shorter than alone, and uses that much more.
  [[nodiscard]] double bandwidth() const {
    return mode_ == SharingMode::mps ? 1 / (1 + batch_constants.work_growth) : 1;
  }

  /// Where no job gets more than `level` of the bandwidth while it uses it.
  void times(double level, std::span<double> times) const {
    std::vector<Contender> left;
    for (std::size_t i = 0; i < jobs_.size(); ++i) left.push_back(contender(i, level));
    // The job whose contested work fills the least of its time comes first: it waits for as much of
    // each other's. Then the next, which waits for all of that one's; so each rate needs only those
    // before it.
    double done = 0;
    while (!left.empty()) {
      const auto others = static_cast<double>(left.size() - 1);
      std::size_t first = 0;
      double least = std::numeric_limits<double>::infinity(), rate = least;
      for (std::size_t i = 0; i < left.size(); ++i) {
        RateEquation beside = left[i].alone;
        if (left[i].contested > 0) {
          beside.gpu += others * left[i].crowding * left[i].contested;
          beside.waits = left[i].crowding * done;
        }
        const double candidate = rate_of(beside);
        const double fills = left[i].contested > 0 ? left[i].contested * candidate : 0;
        if (fills < least) {
          first = i;
          least = fills;
          rate = candidate;
        }
      }
      const Contender settled = left[first];  // and all like it
      for (std::size_t i = left.size(); i-- > 0;) {
        if (!left[i].is_like(settled)) continue;
        times[left[i].which] = std::isinf(rate) ? 0 : 1 / rate;
        done += least;
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

 private:
  [[nodiscard]] Contender contender(std::size_t which, double level) const {
    const SharingJob& job = jobs_[which];
    const double compute = job.compute / job.part;
    const double bandwidth = job.bandwidth > 0 ? job.bandwidth / std::min(level, job.reach) : 0;
    RateEquation alone{job.transfer, job.fixed, compute + bandwidth, 0, job.overlap};
    switch (mode_) {
      case SharingMode::compute_instances:
        return {alone, 0, 0, which};
      case SharingMode::time_slicing: {
        if (options_.fixed_holds) {
          const double rate = rate_of({0, alone.fixed, alone.gpu, 0, alone.overlap});
          alone.gpu = std::isinf(rate) ? 0 : 1 / rate;
          alone.fixed = 0;
        }
        // Each of n jobs pays for its own turns too: n (1 + cost) = 1 + (n - 1) k.
        const double cost = others_ > 0 ? options_.switch_cost * (others_ + 1) / others_ : 0;
        return {alone, alone.gpu, 1 + cost, which};
      }
      case SharingMode::mps:
        break;
    }
    alone.fixed *= 1 + batch_constants.floor_growth * others_;
    return {alone, alone.gpu, (1 + batch_constants.work_growth) * crowding(parts_, job.part),
            which};
  }

  SharingMode mode_;
  SharingOptions options_;
  std::span<const SharingJob> jobs_;
  double others_;
  std::vector<double> parts_;  // ascending
  bool limited_ = false;
};

/// The mean share of the bandwidth that all use.
double bandwidth_use(std::span<const SharingJob> jobs, std::span<const double> times) {
  double use = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs[i].bandwidth > 0) use += jobs[i].bandwidth / times[i];
  return use;
}

}  // namespace

double bandwidth_reach(double part, double compute_share, double memory_share) {
  constexpr double of_one_slice = 0.4, slices = 7;  // of the whole GPU's bandwidth, on an A100
  return std::min(1.0, of_one_slice * slices * part * compute_share / memory_share);
}

void times_together(SharingMode mode, const SharingOptions& options,
                    std::span<const SharingJob> jobs, std::span<double> times) {
  const JobsTogether together(mode, options, jobs);
  together.times(1, times);
  const double most = together.bandwidth();
  if (!together.shares_bandwidth() || bandwidth_use(jobs, times) <= most) return;
  double low = 1 / static_cast<double>(jobs.size()), high = 1;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    together.times(middle, times);
    (bandwidth_use(jobs, times) > most ? high : low) = middle;
  }
  together.times(low, times);
}

MiB sharing_memory(SharingMode mode, int processes) {
  if (processes < 2) return {};
  constexpr double bytes_of_mb = 1e6, bytes_of_mib = 1048576;
  constexpr double in_instance = 60, by_turns = 600, all_of_mps = 600;
  double mb = 0;
  if (mode == SharingMode::time_slicing) mb = (by_turns - in_instance) * processes;
  if (mode == SharingMode::mps) mb = std::max(0.0, all_of_mps - in_instance * processes);
  return {std::llround(mb * bytes_of_mb / bytes_of_mib)};
}

}  // namespace cleave
