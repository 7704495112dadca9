#include "forecast/memory/trend_options.hpp"

#include "base/options.hpp"
#include "base/quantity.hpp"

namespace cleave {

Result<TrendOptions> read_trend_options(const OptionTexts& texts) {
  OptionReader in(texts);
  TrendOptions options;
  options.agreement = in.number("agreement", 0, 10);
  options.agreements = static_cast<int>(in.count("agreements", 1, 1'000'000));
  options.least_samples = static_cast<int>(in.count("least-samples", 2, 1'000'000));
  options.warm_up = in.count("warm-up", 0, 1'000'000'000);
  options.overhead = static_cast<double>(in.size("context").value);
  if (in.error()) return std::unexpected(*in.error());
  options.wait = in.is("wait", "yes");
  options.divisor = in.is("divisor", "2") ? 2 : in.is("divisor", "1") ? 1 : 0;
  options.z = in.is("sides", "two") ? two_sided_99 : one_sided_99;
  if (in.is("inverse", "lower")) options.inverse = TrendOptions::Inverse::lower;
  if (in.is("inverse", "upper")) options.inverse = TrendOptions::Inverse::upper;
  if (in.is("interval", "prediction")) options.interval = TrendOptions::Interval::prediction;
  if (in.is("at", "most-ahead")) options.at = TrendOptions::At::most_ahead;
  options.shift = in.is("shift", "on");
  options.plateau = in.is("plateau", "on");
  if (in.is("noise", "any")) options.noise = TrendOptions::Noise::any;
  return options;
}

}  // namespace cleave
