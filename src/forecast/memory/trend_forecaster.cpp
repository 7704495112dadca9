// `trend`: the forecast of *Managing Multi Instance GPUs*, 3.2.3, for every job.

#include <algorithm>
#include <cmath>

#include "base/quantity.hpp"
#include "forecast/memory/forecasters.hpp"
#include "forecast/memory/trend_options.hpp"

namespace cleave {

namespace {

class Trend final : public Forecaster {
 public:
  Trend(const TrendOptions& options, std::int64_t horizon) : options_(options), horizon_(horizon) {}

  std::optional<ExpectedPeak> report(JobId job, const MemoryReport& report) override {
    TrendForecast& forecast = jobs_.of(job, options_);
    forecast.add(report.iteration, static_cast<double>(report.requested.value),
                 static_cast<double>(report.allocated.value));
    if (report.context) forecast.set_constant(static_cast<double>(report.constant().value));
    forecast.predict(report.iterations.value_or(report.iteration + horizon_));
    const auto peak = forecast.peak();
    if (!peak) return std::nullopt;
    // A falling line may end below the memory held so far, or below zero.
    const MiB size{
        std::llround(std::min(std::max(*peak, forecast.highest() + forecast.constant()), 1e15))};
    return ExpectedPeak{size, size};
  }
  void forget(JobId job) override { jobs_.forget(job); }

 private:
  TrendOptions options_;
  std::int64_t horizon_;
  PerJob<TrendForecast> jobs_;
};

Result<std::unique_ptr<Forecaster>> make_trend(const OptionTexts& texts) {
  const auto options = read_trend_options(texts);
  if (!options) return std::unexpected(options.error());
  OptionReader in(texts);
  const std::int64_t horizon = in.count("horizon", 1, 1'000'000'000);
  if (in.error()) return std::unexpected(*in.error());
  return std::make_unique<Trend>(*options, horizon);
}

}  // namespace

const ForecasterRow trend_row = {
    "trend", "a line through the requests and one through the reuse, with a 99 % interval",
    "Managing Multi Instance GPUs, 3.2.3 and Algorithm 1", trend_options, make_trend};

}  // namespace cleave
