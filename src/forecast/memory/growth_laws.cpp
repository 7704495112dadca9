#include "forecast/memory/growth_laws.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "forecast/memory/distributions.hpp"
#include "forecast/memory/lagged_line.hpp"

namespace cleave {

namespace {

/// How memory grows: a level, plus a multiple of a curve that begins at zero.
struct Curve {
  enum class Kind { level, line, saturating, ramp } kind;
  double share;  // of the run: time constant of the saturating curves, end of the ramps
  double prior;
  double log_prior = 0;
};

/// Curves with priors that add up to one: rest is the likeliest, but evidence soon outweighs that.
std::vector<Curve> make_curves() {
  constexpr double saturating = 0.2, ramps = 0.05;
  constexpr int time_constants = 20;  // from a hundredth of the run on, each a quarter longer
  constexpr double ends[] = {0.02, 0.05, 0.1, 0.2, 0.4, 0.7};
  std::vector<Curve> all = {{Curve::Kind::level, 0, 0.5}, {Curve::Kind::line, 0, 0.25}};
  for (int i = 0; i < time_constants; ++i)
    all.push_back({Curve::Kind::saturating, 0.01 * std::pow(1.26, i), saturating / time_constants});
  for (const double end : ends) all.push_back({Curve::Kind::ramp, end, ramps / std::size(ends)});
  for (Curve& each : all) each.log_prior = std::log(each.prior);
  return all;
}

const std::vector<Curve>& curves() {
  static const std::vector<Curve> all = make_curves();
  return all;
}

/// Correlation of one point's error with the next one's; 1 is a random walk.
constexpr double correlations[] = {0, 0.5, 0.8, 0.9, 0.95, 0.98, 1};

// No fit is trusted to be nearer to the truth than this share of the level, since allocators round.
constexpr double finest = 5e-4;

double height(const Curve& curve, double at, double last) {
  switch (curve.kind) {
    case Curve::Kind::level:
      return 0;
    case Curve::Kind::line:
      return at / last;
    case Curve::Kind::saturating:
      return -std::expm1(-at / (curve.share * last));
    case Curve::Kind::ramp:
      return std::min(at / last, curve.share);
  }
  return 0;
}

/// The curve at every point. Saturating curves need a power of e for each point; if points are
/// evenly spaced it is the previous power times a constant factor.
void heights_at(const Curve& curve, std::span<const SeriesDigest::Point> points, double last,
                std::vector<double>& heights) {
  if (curve.kind != Curve::Kind::saturating) {
    for (std::size_t i = 0; i < points.size(); ++i) heights[i] = height(curve, points[i].at, last);
    return;
  }
  const double time = curve.share * last;
  double left = std::exp(-points[0].at / time), step = 0, factor = 1;
  heights[0] = height(curve, points[0].at, last);
  const double begin = left;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double distance = points[i].at - points[i - 1].at;
    if (distance != step) {
      step = distance;
      factor = std::exp(-step / time);
    }
    left *= factor;
    heights[i] = heights[0] + (begin - left);
  }
}

}  // namespace

GrowthLaws::GrowthLaws(const SeriesDigest& series, double last)
    : series_(&series), last_(last), least_spread_(finest * series.highest()) {
  const auto points = series.points();
  last_ = std::max(last_, points.back().at);
  std::vector<double> heights(points.size()), highest(points.size());
  std::ranges::transform(points, highest.begin(), &SeriesDigest::Point::highest);
  const LaggedLine::Sums of_highest = LaggedLine::sums_of(highest);
  const double log_count = std::log(static_cast<double>(points.size() - 1));
  laws_.reserve(curves().size() * std::size(correlations));
  for (std::size_t curve = 0; curve < curves().size(); ++curve) {
    heights_at(curves()[curve], points, last_, heights);
    const LaggedLine line(heights, highest, of_highest);
    for (std::size_t i = 0; i < std::size(correlations); ++i) {
      // A level that wanders without end is not plausible: the level is limited by what the job
      // works on.
      if (curves()[curve].kind == Curve::Kind::level && correlations[i] >= 1) continue;
      fit(curve, i, line, log_count);
    }
  }
  weigh();
}

void GrowthLaws::fit(std::size_t curve, std::size_t correlation, const LaggedLine& line,
                     double log_count) {
  const LaggedLine::Fit found = line.fit(correlations[correlation]);
  const double least = least_spread_ * least_spread_, count = line.count();
  Law law{curve, correlation, 0, found.level, found.slope, 0, 1, found.middle, found.square};
  law.freedom = std::max(1.0, count - found.parameters - 1);
  law.variance = std::max(found.residuals / law.freedom, least);
  // Schwarz's criterion; the curve's share and the correlation enter through their priors.
  law.residuals = std::max(found.residuals / count, least);
  law.weight = curves()[curve].log_prior - found.parameters / 2.0 * log_count;
  laws_.push_back(law);
}

/// From logarithms to shares of one; laws without support are dropped.
void GrowthLaws::weigh() {
  // Most laws are ruled out before a logarithm is taken: priors and parameters cannot make up for
  // their misfit.
  constexpr double least_share = 1e-3, hopeless = -10, most_made_up = 8;
  const double half = static_cast<double>(series_->points().size() - 1) / 2;
  const double most = std::ranges::min_element(laws_, {}, &Law::residuals)->residuals *
                      std::exp((most_made_up - hopeless) / half);
  std::erase_if(laws_, [&](const Law& law) { return law.residuals > most; });
  for (Law& law : laws_) law.weight -= half * std::log(law.residuals);
  const double best = std::ranges::max_element(laws_, {}, &Law::weight)->weight;
  std::erase_if(laws_, [&](const Law& law) { return law.weight < best + hopeless; });
  double sum = 0;
  for (Law& law : laws_) sum += law.weight = std::exp(law.weight - best);
  for (Law& law : laws_) law.weight /= sum;
  std::erase_if(laws_, [](const Law& law) { return law.weight < least_share; });
}

/// The highest point of a walk with drift: its end if the drift is large, 0.8 spreads without
/// drift.
PeakDistribution::Part GrowthLaws::ahead_of_walk(const Law& law, const Ahead& ahead) const {
  const auto& now = series_->points().back();
  const Curve& curve = curves()[law.curve];
  const double rise = height(curve, ahead.until, last_) - height(curve, now.at, last_);
  const double drift = law.slope * rise, spread = std::sqrt(law.variance * ahead.steps);
  const double centre =
      now.highest + (drift + std::sqrt(drift * drift + 2.55 * spread * spread)) / 2;
  const double unsure = law.square > 0 ? rise * rise / law.square * law.variance : 0;
  return {law.weight, centre, std::sqrt(spread * spread + unsure), law.freedom};
}

PeakDistribution::Part GrowthLaws::ahead_of_trend(const Law& law, const Ahead& ahead) const {
  const auto& now = series_->points().back();
  const Curve& curve = curves()[law.curve];
  const auto trend = [&](double at) { return law.level + law.slope * height(curve, at, last_); };
  const double correlation = correlations[law.correlation],
               left = ahead.remembered[law.correlation];
  // A falling curve is highest at its next point.
  const bool falls = law.slope < 0;
  const double at = falls ? now.at : ahead.until;
  const double remembered = falls ? 1 : left;
  const double fresh = 1 - correlation;
  const double spread =
      std::sqrt(law.variance / (1 - correlation * correlation) * (1 - left * left));
  // Points that noise can lift to the top lie near the top of the curve; among those only the
  // independent ones count.
  const double step = std::abs(trend(ahead.until) - trend(now.at + (ahead.until - now.at) * 0.9));
  const double near_top = step > 0 ? std::min(1.0, 0.15 * spread / step) : 1;
  const double draws = 1 + std::max(0.0, ahead.steps * near_top - 1) * fresh;
  const double off = fresh * height(curve, at, last_) - law.middle;
  const double leverage = 1 / static_cast<double>(series_->points().size() - 1) +
                          (law.square > 0 ? off * off / law.square : 0);
  const double unsure = std::sqrt(law.variance * leverage) / fresh * (1 - remembered);
  const double noise = spread * spread_of_largest(draws);
  const double centre =
      trend(at) + remembered * (now.highest - trend(now.at)) + spread * mean_of_largest(draws);
  return {law.weight, centre, std::sqrt(unsure * unsure + noise * noise), law.freedom};
}

PeakDistribution GrowthLaws::peak(double until) const {
  const double now = series_->points().back().at;
  Ahead ahead;
  ahead.until = std::clamp(until, now, last_);
  ahead.steps = (ahead.until - now) / series_->spacing();
  PeakDistribution peak;
  static_assert(std::tuple_size_v<decltype(ahead.remembered)> == std::size(correlations));
  std::ranges::transform(correlations, ahead.remembered.begin(),
                         [&](double correlation) { return std::pow(correlation, ahead.steps); });
  peak.highest_ = series_->highest();
  peak.parts_.reserve(laws_.size());
  for (const Law& law : laws_) {
    PeakDistribution::Part part =
        correlations[law.correlation] < 1 ? ahead_of_trend(law, ahead) : ahead_of_walk(law, ahead);
    part.scale = std::max(part.scale, least_spread_);
    part.curve = &student_curve(static_cast<std::size_t>(part.freedom));
    peak.parts_.push_back(part);
  }
  return peak;
}

double PeakDistribution::above(double size) const {
  if (size < highest_) return 1;
  double above = 0;
  for (const Part& part : parts_)
    above += part.weight * part.curve->below((part.centre - size) / part.scale);
  return above;
}

double PeakDistribution::quantile(double share) const {
  const double wanted = 1 - share;
  double over = above(highest_) - wanted;
  if (over <= 0 || parts_.empty()) return highest_;
  // The quantile of the mixture lies between the smallest and the largest of the parts' quantiles.
  double freedom = 0, deviate = 0, low = std::numeric_limits<double>::infinity(), high = highest_;
  for (const Part& part : parts_) {
    if (part.freedom != freedom) deviate = student_quantile(share, freedom = part.freedom);
    const double own = part.centre + deviate * part.scale;
    low = std::min(low, own - 0.01 * part.scale);
    high = std::max(high, own + 0.01 * part.scale);
  }
  low = std::max(low, highest_);
  if (low > highest_) over = above(low) - wanted;
  double under = above(high) - wanted;
  constexpr double near_enough = 5e-4;  // of the share: no law is known that precisely
  // Regula falsi in the Illinois variant, with a bisection after every second step.
  for (int i = 0; i < 60 && high - low > 1e-4 * high; ++i) {
    const double middle =
        i % 3 == 2 ? (low + high) / 2 : high - under * (high - low) / (under - over);
    const double at_middle = above(middle) - wanted;
    if (std::abs(at_middle) < near_enough) return middle;
    if (at_middle > 0) {
      low = middle;
      over = at_middle;
      under /= 2;
    } else {
      high = middle;
      under = at_middle;
      over /= 2;
    }
  }
  return (low + high) / 2;
}

}  // namespace cleave
