#include "forecast/memory/trend_forecast.hpp"

#include <algorithm>
#include <cmath>

namespace cleave {

namespace {

// A shift: this many samples in a row on one side of the line, each this many spreads away from it.
constexpr int shifted_samples = 3;
constexpr double shifted_spreads = 4;
constexpr std::int64_t samples_before_shift = 8;
// A plateau: the slope of the recent samples is at most this many of its standard errors above
// zero.
constexpr double no_slope = 2;

}  // namespace

void TrendForecast::add(std::int64_t iteration, double requested, double physical) {
  const bool usable = iteration > last_iteration_ && std::isfinite(requested) &&
                      std::isfinite(physical) && requested > 0 && physical > 0;
  if (!usable) {
    ++passed_over_;
    return;
  }
  last_iteration_ = iteration;
  if (iteration <= options_.warm_up) return;
  fit({iteration, requested, physical});
}

void TrendForecast::fit(const Sample& sample) {
  recent_[static_cast<std::size_t>(seen_) % recent_samples] = sample;
  ++seen_;
  highest_ = std::max(highest_, sample.physical);
  const auto t = static_cast<double>(sample.iteration);
  const double spread = requested_.spread(options_.divisor);
  const double residual = requested_.add(t, sample.requested);
  inverse_.add(t, sample.requested / sample.physical);
  if (requested_.count() > 2) residuals_.add(residual);
  if (options_.shift && seen_ > samples_before_shift)
    look_for_shift(spread > 0      ? residual / spread
                   : residual != 0 ? std::copysign(1e9, residual)
                                   : 0);
}

void TrendForecast::look_for_shift(double residual) {
  if (std::abs(residual) < shifted_spreads) {
    outside_ = 0;
    return;
  }
  const int side = residual > 0 ? 1 : -1;
  outside_ = outside_ * side > 0 ? outside_ + side : side;
  if (std::abs(outside_) < shifted_samples) return;
  // Only samples after the jump are kept; as far as memory goes, the rest was another job.
  std::array<Sample, shifted_samples> kept;
  for (int i = 0; i < shifted_samples; ++i)
    kept[static_cast<std::size_t>(i)] =
        recent_[static_cast<std::size_t>(seen_ - shifted_samples + i) % recent_samples];
  requested_ = inverse_ = LineFit();
  residuals_ = QuantileSketch(0.99);
  seen_ = 0;
  outside_ = 0;
  highest_ = 0;
  agreeing_ = 0;
  prediction_.reset();
  ++shifts_;
  for (const Sample& each : kept) fit(each);
}

double TrendForecast::margin(double iteration) const {
  const double spread = requested_.spread(options_.divisor);
  double margin = options_.z * spread;
  if (options_.interval == TrendOptions::Interval::prediction && requested_.count() > 2)
    margin =
        student_quantile(normal_below(options_.z), static_cast<double>(requested_.count() - 2)) *
        spread * std::sqrt(1 + requested_.leverage(iteration));
  // With unknown noise the residuals themselves show how far they reach; a few of them cannot.
  if (options_.noise == TrendOptions::Noise::any)
    margin =
        std::max(margin, residuals_.count() >= 100 ? residuals_.value() : residuals_.largest());
  return margin;
}

/// The highest memory once it has stopped growing; nullopt while it grows.
std::optional<double> TrendForecast::plateau() const {
  if (seen_ < static_cast<std::int64_t>(recent_samples)) return std::nullopt;
  LineFit line;
  for (std::size_t i = 0; i < recent_samples; ++i) {
    const Sample& sample = recent_[(static_cast<std::size_t>(seen_) + i) % recent_samples];
    line.add(static_cast<double>(sample.iteration), sample.physical);
  }
  if (line.slope() > no_slope * line.slope_error()) return std::nullopt;
  return std::max(highest_, line.mean() + options_.z * line.spread(2));
}

std::optional<TrendForecast::Prediction> TrendForecast::predicted(std::int64_t last) {
  level_ = false;
  if (requested_.count() < options_.least_samples) return std::nullopt;
  auto at = static_cast<double>(last);
  const bool falls = options_.at == TrendOptions::At::most_ahead && requested_.slope() < 0;
  if (falls) at = static_cast<double>(std::min(last, last_iteration_ + 1));
  Prediction prediction;
  prediction.requested = requested_.at(at) + margin(at);
  prediction.inverse = inverse_.at(at);
  const double side = options_.z * inverse_.spread(options_.divisor);
  if (options_.inverse == TrendOptions::Inverse::lower) prediction.inverse -= side;
  if (options_.inverse == TrendOptions::Inverse::upper) prediction.inverse += side;
  if (!(prediction.inverse > 0)) return std::nullopt;
  prediction.peak = prediction.requested / prediction.inverse;
  if (options_.at == TrendOptions::At::most_ahead)
    prediction.peak = std::max(prediction.peak, highest_);
  if (options_.plateau) {
    const auto most = plateau();
    level_ = most && *most < prediction.peak;
    if (level_) prediction.peak = *most;
  }
  prediction.peak += options_.overhead;
  return prediction;
}

const std::optional<TrendForecast::Prediction>& TrendForecast::predict(std::int64_t last) {
  const auto next = predicted(last);
  change_.reset();
  if (next && prediction_ && prediction_->peak != 0)
    change_ = std::abs(next->peak - prediction_->peak) / std::abs(prediction_->peak);
  agreeing_ = change_ && *change_ <= options_.agreement ? agreeing_ + 1 : 0;
  prediction_ = next;
  return prediction_;
}

std::optional<double> TrendForecast::peak() const {
  if (!prediction_ || (options_.wait && !converged())) return std::nullopt;
  return prediction_->peak;
}

}  // namespace cleave
