#include "slow_pace.hpp"

#include <cmath>
#include <map>

#include "physics/batch_law.hpp"

namespace cleave {

namespace {

double joined(double a, double b, double p) {
  return p == 1 ? a + b : std::pow(std::pow(a, p) + std::pow(b, p), 1 / p);
}

/// The highest number up to `most` at which `use` of it is at most `limit`; `use` never falls.
template <class Use>
double highest(double most, double limit, const Use& use) {
  if (use(most) <= limit) return most;
  double low = 0, high = most;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (use(middle) <= limit ? low : high) = middle;
  }
  return low;
}

/// The jobs of one instance, at one clock.
class SlowInstance {
 public:
  SlowInstance(const SlowGpu& gpu, std::vector<const SlowJob*> jobs, double clock)
      : gpu_(gpu), jobs_(std::move(jobs)), clock_(clock) {}

  /// The time of all of each job's work, where the link offers each this share.
  [[nodiscard]] std::vector<double> times(double link) const {
    const Times& first = jobs_.front()->times;
    if (!jobs_.front()->beside) return {first.own_s(clock_) + first.link_s(link)};
    const double limit = first.transfer_limit;
    const auto copying = static_cast<double>(
        std::ranges::count_if(jobs_, [](const SlowJob* job) { return job->times.transfer_s > 0; }));
    if (gpu_.link == LinkSharing::off || copying < 2) return with_copies(link, limit);
    if (gpu_.link == LinkSharing::together) return with_copies(link, limit / copying);
    const double copies =
        highest(limit, limit, [&](double level) { return copied(with_copies(link, level)); });
    return with_copies(link, copies);
  }

 private:
  /// The mean share of the link that the copy engines of the instance use.
  [[nodiscard]] double copied(const std::vector<double>& whole_s) const {
    double use = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (jobs_[i]->times.transfer_s > 0) use += jobs_[i]->times.transfer_s / whole_s[i];
    return use;
  }

  /// Where processors are limited, the instance's bandwidth has a level as the link has.
  [[nodiscard]] std::vector<double> with_copies(double link, double copies) const {
    if (!limited()) return with_bandwidth(link, copies, 1);
    const bool under_mps = *jobs_.front()->beside == SharingMode::mps;
    const double most = under_mps ? 1 / (1 + batch_constants.work_growth) : 1;
    const double level = highest(1, most, [&](double bandwidth) {
      const auto whole_s = with_bandwidth(link, copies, bandwidth);
      double use = 0;
      for (std::size_t i = 0; i < jobs_.size(); ++i)
        use += jobs_[i]->times.bandwidth_s / whole_s[i];
      return use;
    });
    return with_bandwidth(link, copies, level);
  }

  /// Whether jobs may not use all processors, so that bandwidth is shared by itself.
  [[nodiscard]] bool limited() const {
    if (jobs_.front()->beside == SharingMode::compute_instances) return true;
    return std::ranges::any_of(jobs_, [](const SlowJob* job) { return job->part < 1; });
  }

  /// How many times as long a job computes beside the others as alone: it wants its part of the
  /// processors, and gets a max-min fair one.
  [[nodiscard]] double crowded(const SlowJob& job) const {
    const double level = highest(1, 1, [&](double each) {
      double sum = 0;
      for (const SlowJob* other : jobs_) sum += std::min(each, other->part);
      return sum;
    });
    return std::max(1.0, job.part / level);
  }

  /// What the definition calls x, a, g, w and k.
  struct Terms {
    double x, a, g, w, k, p;
  };
  [[nodiscard]] Terms terms(const SlowJob& job, double link, double copies,
                            double bandwidth) const {
    const Times& t = job.times;
    const auto n = static_cast<double>(jobs_.size());
    // 0.4 of the GPU's bandwidth on a seventh of its processors.
    const double reach = 0.4 * 7 * job.part * job.compute_share / job.memory_share;
    const double compute_s = t.compute_s / clock_ / job.part;
    const double g = compute_s + t.bandwidth_s / std::min({1.0, reach, bandwidth});
    Terms is{t.link_s(link, copies), t.fixed_s, g, 0, 0, t.overlap};
    if (*job.beside == SharingMode::compute_instances) return is;
    if (*job.beside == SharingMode::time_slicing) {
      if (gpu_.sharing.fixed_holds) {
        is.g = joined(is.a, is.g, is.p);
        is.a = 0;
      }
      is.w = is.g;
      is.k = n > 1 ? 1 + n / (n - 1) * gpu_.sharing.switch_cost : 0;
      return is;
    }
    is.a *= 1 + batch_constants.floor_growth * (n - 1);
    is.w = is.g;
    is.k = n > 1 ? (1 + batch_constants.work_growth) * (crowded(job) - 1) / (n - 1) : 0;
    return is;
  }

  /// Each job's rate from the others', again and again until all are right.
  [[nodiscard]] std::vector<double> with_bandwidth(double link, double copies,
                                                   double bandwidth) const {
    std::vector<Terms> all;
    std::vector<double> rates, whole_s;
    for (const SlowJob* job : jobs_) {
      all.push_back(terms(*job, link, copies, bandwidth));
      rates.push_back(0);
    }
    for (bool changes = true; changes;) {
      changes = false;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const Terms& of = all[i];
        const double most = 1 / (of.x + std::max(of.a, of.g));
        const double rate = highest(most, 1, [&](double r) {
          double waits = 0;
          for (std::size_t j = 0; j < all.size(); ++j)
            if (j != i) waits += of.k * std::min(of.w * r, all[j].w * rates[j]);
          return of.x * r + joined(of.a * r, of.g * r + waits, of.p);
        });
        changes = changes || std::abs(rate - rates[i]) > 1e-9 * rate;
        rates[i] = rate;
      }
    }
    for (const double rate : rates) whole_s.push_back(1 / rate);
    return whole_s;
  }

  const SlowGpu& gpu_;
  std::vector<const SlowJob*> jobs_;
  double clock_;
};

/// The time of all of each job's work, and the use of the link and of the busiest copy engines.
struct AllTimes {
  std::vector<double> whole_s;
  double link = 0, engines = 0;
};

AllTimes times_at(const SlowGpu& gpu, const std::vector<SlowJob>& jobs, double share,
                  double clock) {
  std::map<int, std::vector<std::size_t>> instances;
  for (std::size_t i = 0; i < jobs.size(); ++i) instances[jobs[i].instance].push_back(i);
  AllTimes all;
  all.whole_s.resize(jobs.size());
  for (const auto& [instance, which] : instances) {
    std::vector<const SlowJob*> here;
    for (const std::size_t i : which) here.push_back(&jobs[i]);
    const auto whole_s = SlowInstance(gpu, here, clock).times(share);
    double engines = 0;
    for (std::size_t i = 0; i < which.size(); ++i) {
      all.whole_s[which[i]] = whole_s[i];
      const Times& t = here[i]->times;
      if (t.crosses_s() > 0) all.link += t.crosses_s() / whole_s[i];
      if (t.transfer_s > 0) engines += t.transfer_s / whole_s[i] / t.transfer_limit;
    }
    all.engines = std::max(all.engines, engines);
  }
  return all;
}

/// The share of the link that each may get while it transfers.
double link_share(const SlowGpu& gpu, const std::vector<SlowJob>& jobs, double clock) {
  const auto transferring = static_cast<double>(
      std::ranges::count_if(jobs, [](const SlowJob& job) { return job.times.crosses_s() > 0; }));
  if (gpu.link == LinkSharing::off || transferring == 0) return 1;
  if (gpu.link == LinkSharing::together) return 1 / transferring;
  return highest(1, 1, [&](double share) { return times_at(gpu, jobs, share, clock).link; });
}

}  // namespace

double Times::own_s(double clock) const {
  return joined(fixed_s, compute_s / clock + bandwidth_s, overlap);
}

SlowPace pace_slowly(const SlowGpu& gpu, const std::vector<SlowJob>& jobs) {
  const double share = link_share(gpu, jobs, 1);
  const auto whole_s = times_at(gpu, jobs, share, 1).whole_s;
  // The jobs of an instance keep its processors, and its memory, busy all the time at most.
  std::map<int, double> computing, loading;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!(whole_s[i] > 0)) continue;
    computing[jobs[i].instance] += jobs[i].times.compute_s / whole_s[i];
    loading[jobs[i].instance] += jobs[i].times.bandwidth_s / whole_s[i];
  }
  SlowPace pace;
  double sum_w = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const SlowJob& job = jobs[i];
    const double of_gpu =
        job.compute_share * job.times.compute_s / std::max(1.0, computing[job.instance]) +
        job.memory_share * job.times.bandwidth_s / std::max(1.0, loading[job.instance]);
    const double part = whole_s[i] > 0 ? std::min(1.0, of_gpu / whole_s[i]) : 0;
    pace.watts.push_back(gpu.span_w * part * job.kappa);
    sum_w += pace.watts.back();
  }
  const bool over = gpu.room_w && sum_w > *gpu.room_w;
  const double scale = over ? *gpu.room_w / sum_w : 1;
  for (double& watts : pace.watts) watts *= scale;
  const double clock = std::pow(scale, 1 / gpu.beta);
  // Beside jobs that share an instance the link is settled at the clock that comes out.
  const bool again = std::ranges::any_of(jobs, [](const SlowJob& job) { return !!job.beside; });
  AllTimes all = times_at(gpu, jobs, again ? link_share(gpu, jobs, clock) : share, clock);
  pace.whole_s = std::move(all.whole_s);
  pace.link = std::max(all.link, all.engines);
  return pace;
}

}  // namespace cleave
