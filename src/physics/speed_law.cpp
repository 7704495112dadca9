#include "physics/speed_law.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "model/speed_table.hpp"
#include "physics/least_squares.hpp"

namespace cleave {

namespace {

/// Differences of logarithms below this are rounding.
constexpr double rounding = 1e-12;

/// A share of work that is floor: T^p is proportional to share + (1 - share) h^p.
double log_shape(double share, double gpu_bound, double overlap) {
  return std::log(share + (1 - share) * std::pow(gpu_bound, overlap)) / overlap;
}

/// How far the logarithms of the times are from those of a shape, and the scale between them.
struct Match {
  double squares = 0, log_scale = 0;
};
Match match(std::span<const KnownTime> known, double share, double overlap) {
  Match result;
  const double count = static_cast<double>(known.size());
  for (const KnownTime& each : known)
    result.log_scale += (std::log(each.time) - log_shape(share, each.gpu_bound, overlap)) / count;
  for (const KnownTime& each : known) {
    const double left =
        std::log(each.time) - log_shape(share, each.gpu_bound, overlap) - result.log_scale;
    result.squares += left * left;
  }
  return result;
}

/// The share of floor that matches best: a scan, then a search by thirds around the best of it.
double best_share(std::span<const KnownTime> known, double overlap) {
  // h^p spans orders of magnitude, so the scan is over the odds share : 1 - share.
  constexpr int steps = 160;
  const double widest = 4 * overlap;
  const auto share_at = [&](double x) {
    const double odds = std::exp((2 * x - 1) * widest);
    return odds / (1 + odds);
  };
  const auto squares = [&](double x) { return match(known, share_at(x), overlap).squares; };
  int best = 0;
  for (int i = 1; i <= steps; ++i)
    if (squares(static_cast<double>(i) / steps) < squares(static_cast<double>(best) / steps))
      best = i;
  double low = std::max(0, best - 1) / static_cast<double>(steps);
  double high = std::min(steps, best + 1) / static_cast<double>(steps);
  for (int i = 0; i < 100; ++i) {
    const double third = (high - low) / 3;
    (squares(low + third) <= squares(high - third) ? high : low) +=
        squares(low + third) <= squares(high - third) ? -third : third;
  }
  const double share = share_at((low + high) / 2);
  for (const double bound : {0.0, 1.0})
    if (match(known, bound, overlap).squares <= match(known, share, overlap).squares) return bound;
  return share;
}

SliceLaw law_of(double share, double scale, double overlap) {
  return {scale * std::pow(share, 1 / overlap), scale * std::pow(1 - share, 1 / overlap), overlap};
}

/// The share of floor that two times have exactly; 0 or 1 if they are beyond what the law can say.
double exact_share(const KnownTime& one, const KnownTime& other, double overlap) {
  const KnownTime& small = one.gpu_bound > other.gpu_bound ? one : other;
  const KnownTime& large = one.gpu_bound > other.gpu_bound ? other : one;
  const double slower = std::log(small.time / large.time);
  if (slower <= rounding) return 1;
  if (slower >= std::log(small.gpu_bound / large.gpu_bound) - rounding) return 0;
  const double ratio = std::exp(slower * overlap);
  const double above = std::pow(small.gpu_bound, overlap),
               below = std::pow(large.gpu_bound, overlap);
  // share + (1 - share) above = ratio (share + (1 - share) below)
  const double odds = (above - ratio * below) / (ratio - 1);
  return odds / (1 + odds);
}

}  // namespace

std::optional<FittedJob> fit_slice_law(std::span<const KnownTime> known, double overlap) {
  if (known.size() < 2) return std::nullopt;
  bool differ = false;
  for (const KnownTime& each : known) {
    if (!(each.time > 0 && std::isfinite(each.time) && each.gpu_bound > 0 &&
          std::isfinite(each.gpu_bound)))
      return std::nullopt;
    differ = differ || each.gpu_bound != known.front().gpu_bound;
  }
  if (!differ) return std::nullopt;
  const double share =
      known.size() == 2 ? exact_share(known[0], known[1], overlap) : best_share(known, overlap);
  FittedJob job;
  job.law = law_of(share, std::exp(match(known, share, overlap).log_scale), overlap);
  job.fit = share <= 0 ? FloorFit::no_floor : share >= 1 ? FloorFit::no_bound : FloorFit::inside;
  for (const KnownTime& each : known)
    job.worst = std::max(job.worst, std::abs(time_on(job.law, each.gpu_bound) / each.time - 1));
  return job;
}

std::optional<FittedJob> fitted_job(const SpeedTable& table, const GpuModel& model) {
  std::vector<KnownTime> known;
  for (const Profile& each : model.profiles)
    if (const auto speed = listed_speed(table, model, each.name))
      known.push_back({gpu_bound_time(model, each), 1 / *speed});
  return fit_slice_law(known);
}

std::optional<double> completed_speed(const SpeedTable& table, const GpuModel& model,
                                      const Profile& profile) {
  if (const auto listed = listed_speed(table, model, profile.name)) return listed;
  if (!is_completed(table, model, profile)) return std::nullopt;
  const auto job = fitted_job(table, model);
  if (!job) return std::nullopt;
  return 1 / time_on(job->law, gpu_bound_time(model, profile));
}

std::vector<double> fit_slice_times(std::span<const std::vector<double>> jobs,
                                    std::span<const double> weights, double first, double overlap) {
  struct Row {
    std::size_t size;
    double time, weight;
  };
  const std::size_t sizes = jobs.empty() ? 0 : jobs.front().size();
  if (sizes < 2) return {};
  FitProblem problem;
  std::vector<Row> rows;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    // Both parts begin as most of the shortest time.
    double shortest = 0;
    for (std::size_t size = 0; size < sizes; ++size)
      if (const double time = jobs[job][size]; time > 0) {
        rows.push_back({size, time, weights.empty() ? 1 : weights[job]});
        problem.group.push_back(job);
        shortest = shortest == 0 ? time : std::min(shortest, time);
      }
    const double begin = shortest > 0 ? std::log(0.7 * shortest) : 0;
    problem.start.own.push_back({begin, begin});
  }
  for (std::size_t size = 1; size + 1 < sizes; ++size)
    problem.start.shared.push_back(std::log(first) * static_cast<double>(sizes - 1 - size) /
                                   static_cast<double>(sizes - 1));
  const auto gpu_bound = [&](std::span<const double> shared, std::size_t size) {
    if (size + 1 == sizes) return 1.0;
    return size == 0 ? first : std::exp(shared[size - 1]);
  };
  problem.residual = [&](std::span<const double> shared, std::span<const double> own,
                         std::size_t row) {
    const Row& each = rows[row];
    const double time = joined_time(std::exp(std::clamp(own[0], -40.0, 40.0)),
                                    std::exp(std::clamp(own[1], -40.0, 40.0)),
                                    gpu_bound(shared, each.size), overlap);
    return each.weight * softened(std::log(time / each.time), job_error_scale);
  };
  const Parameters at = least_squares(std::move(problem)).at;
  std::vector<double> times;
  for (std::size_t size = 0; size < sizes; ++size) times.push_back(gpu_bound(at.shared, size));
  return times;
}

}  // namespace cleave
