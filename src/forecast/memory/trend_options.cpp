#include "forecast/memory/trend_options.hpp"

#include "base/quantity.hpp"
#include "forecast/memory/forecasters.hpp"

namespace cleave {

Result<TrendOptions> read_trend_options(const OptionTexts& texts) {
  const auto is = [&](std::string_view name, std::string_view value) {
    return texts.find(name)->second == value;
  };
  TrendOptions options;
  const auto agreement = share_option(texts, "agreement", 0, 10);
  if (!agreement) return std::unexpected(agreement.error());
  options.agreement = *agreement;
  const auto agreements = count_option(texts, "agreements", 1, 1'000'000);
  if (!agreements) return std::unexpected(agreements.error());
  options.agreements = static_cast<int>(*agreements);
  const auto least = count_option(texts, "least-samples", 2, 1'000'000);
  if (!least) return std::unexpected(least.error());
  options.least_samples = static_cast<int>(*least);
  const auto warm_up = count_option(texts, "warm-up", 0, 1'000'000'000);
  if (!warm_up) return std::unexpected(warm_up.error());
  options.warm_up = *warm_up;
  const auto context = size_option(texts, "context");
  if (!context) return std::unexpected(context.error());
  options.overhead = static_cast<double>(context->value);
  options.wait = is("wait", "yes");
  options.divisor = is("divisor", "2") ? 2 : is("divisor", "1") ? 1 : 0;
  options.z = is("sides", "two") ? two_sided_99 : one_sided_99;
  if (is("inverse", "lower")) options.inverse = TrendOptions::Inverse::lower;
  if (is("inverse", "upper")) options.inverse = TrendOptions::Inverse::upper;
  if (is("interval", "prediction")) options.interval = TrendOptions::Interval::prediction;
  if (is("at", "most-ahead")) options.at = TrendOptions::At::most_ahead;
  options.shift = is("shift", "on");
  options.plateau = is("plateau", "on");
  if (is("noise", "any")) options.noise = TrendOptions::Noise::any;
  return options;
}

}  // namespace cleave
