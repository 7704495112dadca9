#include "physics/memory_law.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace cleave {

namespace {

/// More than any GPU has; the regions end here.
constexpr double most_mib = 1 << 20;

/// M0 + batch M1 = mib: on one side of it some trials are explained, on the other side others.
struct Line {
  double batch, mib;
};

/// The trials of one batch, by what a process may take at most.
struct BatchTrials {
  double batch;
  std::vector<double> fits, fails;  // ascending

  /// Those that a demand of `mib` contradicts.
  [[nodiscard]] std::size_t against(double mib) const {
    const auto refused = std::ranges::lower_bound(fits, mib) - fits.begin();
    const auto admitted = fails.end() - std::ranges::lower_bound(fails, mib);
    return static_cast<std::size_t>(refused + admitted);
  }
};

std::vector<BatchTrials> by_batch(std::span<const MemoryTrial> trials) {
  std::map<double, BatchTrials> all;
  for (const MemoryTrial& trial : trials) {
    BatchTrials& batch = all[trial.batch];
    batch.batch = trial.batch;
    (trial.fits ? batch.fits : batch.fails)
        .push_back(static_cast<double>(trial.usable.value) / trial.processes);
  }
  std::vector<BatchTrials> batches;
  for (auto& [batch, each] : all) {
    std::ranges::sort(each.fits);
    std::ranges::sort(each.fails);
    batches.push_back(std::move(each));
  }
  return batches;
}

struct Point {
  double base, per_sample;
};

/// The part of a convex polygon where `side` times (M0 + batch M1 - mib) is not negative.
std::vector<Point> cut(const std::vector<Point>& polygon, const Line& line, double side) {
  const auto inside = [&](const Point& point) {
    return side * (point.base + line.batch * point.per_sample - line.mib);
  };
  std::vector<Point> kept;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Point &here = polygon[i], &next = polygon[(i + 1) % polygon.size()];
    const double at_here = inside(here), at_next = inside(next);
    if (at_here >= 0) kept.push_back(here);
    if ((at_here > 0 && at_next < 0) || (at_here < 0 && at_next > 0)) {
      const double share = at_here / (at_here - at_next);
      kept.push_back({here.base + share * (next.base - here.base),
                      here.per_sample + share * (next.per_sample - here.per_sample)});
    }
  }
  return kept;
}

/// Points of every region into which the lines divide the quadrant: beside each crossing of two
/// lines, in all four directions.
std::vector<Point> points_of_regions(const std::vector<Line>& lines) {
  constexpr double aside = 1e-3;  // MiB; memory comes in whole MiB
  std::vector<Line> all = lines;
  std::vector<Point> points;
  const auto add = [&](double base, double per_sample) {
    if (base >= 0 && per_sample >= 0 && base <= most_mib && per_sample <= most_mib)
      points.push_back({base, per_sample});
  };
  // Around a crossing: up and down on one line, and the same on the other.
  const auto around = [&](double base, double per_sample, double batch, double other_batch) {
    const double middle = (batch + other_batch) / 2;
    add(base + aside, per_sample);
    add(base - aside, per_sample);
    add(base + aside, per_sample - aside / middle);
    add(base - aside, per_sample + aside / middle);
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Line& one = all[i];
    add(one.mib + aside, 0);
    add(one.mib - aside, 0);
    add(0, (one.mib + aside) / one.batch);
    add(0, (one.mib - aside) / one.batch);
    for (std::size_t j = 0; j < i; ++j) {
      const Line& other = all[j];
      if (one.batch == other.batch) continue;
      const double per_sample = (one.mib - other.mib) / (one.batch - other.batch);
      around(one.mib - one.batch * per_sample, per_sample, one.batch, other.batch);
    }
  }
  return points;
}

}  // namespace

MemoryLaw::MemoryLaw(std::span<const MemoryTrial> trials) {
  const std::vector<BatchTrials> batches = by_batch(trials);
  std::vector<Line> lines;
  for (const BatchTrials& batch : batches) {
    std::set<double> thresholds(batch.fits.begin(), batch.fits.end());
    thresholds.insert(batch.fails.begin(), batch.fails.end());
    for (const double mib : thresholds) lines.push_back({batch.batch, mib});
  }
  const auto against = [&](const Point& point) {
    std::size_t count = 0;
    for (const BatchTrials& batch : batches)
      count += batch.against(point.base + batch.batch * point.per_sample);
    return count;
  };
  std::vector<Point> best;
  contradicted_ = std::numeric_limits<std::size_t>::max();
  std::vector<Point> points = points_of_regions(lines);
  points.push_back({0, 0});
  for (const Point& point : points) {
    const std::size_t count = against(point);
    if (count < contradicted_) best.clear();
    contradicted_ = std::min(contradicted_, count);
    if (count == contradicted_) best.push_back(point);
  }
  std::set<std::vector<bool>> known;  // regions, by the sides of all lines
  for (const Point& point : best) {
    std::vector<bool> sides;
    for (const Line& line : lines)
      sides.push_back(point.base + line.batch * point.per_sample > line.mib);
    if (!known.insert(sides).second) continue;
    std::vector<Point> region = {{0, 0}, {most_mib, 0}, {most_mib, most_mib}, {0, most_mib}};
    for (std::size_t i = 0; i < lines.size(); ++i)
      region = cut(region, lines[i], sides[i] ? 1 : -1);
    for (const Point& corner : region) corners_.push_back({corner.base, corner.per_sample});
  }
}

MemoryInterval MemoryLaw::range(double of_base, double of_per_sample) const {
  MemoryInterval interval{std::numeric_limits<double>::infinity(), 0};
  for (const Pair& corner : corners_) {
    const double value = of_base * corner.base + of_per_sample * corner.per_sample;
    interval.least = std::min(interval.least, value);
    interval.most = std::max(interval.most, value);
  }
  return interval;
}

MemoryInterval MemoryLaw::base() const {
  return range(1, 0);
}

MemoryInterval MemoryLaw::per_sample() const {
  return range(0, 1);
}

MemoryInterval MemoryLaw::demand(double batch, int processes) const {
  return range(processes, processes * batch);
}

MemoryVerdict MemoryLaw::verdict(double batch, int processes, MiB usable) const {
  const MemoryInterval needed = demand(batch, processes);
  // A trial's own bound is the end of an interval: what just fits, fits.
  constexpr double rounding = 1e-6;
  const double has = static_cast<double>(usable.value);
  if (needed.most <= has * (1 + rounding)) return MemoryVerdict::fits;
  if (needed.least >= has * (1 - rounding)) return MemoryVerdict::does_not_fit;
  return MemoryVerdict::not_known;
}

}  // namespace cleave
