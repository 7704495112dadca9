#include "simulate/advice/paired.hpp"

#include <algorithm>
#include <cmath>

namespace cleave {

namespace {

/// Whether all draws but one in twenty are on the side of the more.
bool beyond_spread(std::size_t fewer, std::size_t more, std::size_t draws, DrawKind kind) {
  if (kind == DrawKind::independent) return sign_test(fewer, more) <= 0.05;
  return (draws - more) * 20 <= draws;
}

Difference difference_of(const PairedRatio& ratio, DrawKind kind) {
  if (ratio.draws < seeds_for_a_statement) return Difference::too_few_draws;
  if (ratio.median <= 1 - least_difference &&
      beyond_spread(ratio.longer, ratio.shorter, ratio.draws, kind))
    return Difference::shorter;
  if (ratio.median >= 1 / (1 - least_difference) &&
      beyond_spread(ratio.shorter, ratio.longer, ratio.draws, kind))
    return Difference::longer;
  return Difference::none;
}

}  // namespace

PairedRatio paired_ratio(std::span<const double> times, std::span<const double> over,
                         DrawKind kind) {
  PairedRatio result;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < times.size(); ++i) {
    ratios.push_back(times[i] / over[i]);
    result.shorter += times[i] < over[i] ? 1 : 0;
    result.longer += times[i] > over[i] ? 1 : 0;
  }
  result.draws = ratios.size();
  if (ratios.empty()) return result;
  std::ranges::sort(ratios);
  result.median = quantile_of(ratios, 0.5);
  result.low = quantile_of(ratios, 0.05);
  result.high = quantile_of(ratios, 0.95);
  result.difference = difference_of(result, kind);
  return result;
}

std::size_t lowest(const TimesByDraw& times, const std::vector<bool>& counts) {
  const auto sum_of_logarithms = [&](const std::vector<double>& of) {
    double sum = 0;
    for (std::size_t i = 0; i < of.size(); ++i)
      if (counts.empty() || counts[i]) sum += std::log(of[i]);
    return sum;
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < times.size(); ++i)
    if (sum_of_logarithms(times[i]) < sum_of_logarithms(times[best])) best = i;
  return best;
}

std::vector<double> chosen_elsewhere(const TimesByDraw& times) {
  const std::size_t draws = times.front().size();
  std::vector<bool> even(draws), odd(draws);
  for (std::size_t i = 0; i < draws; ++i) (i % 2 == 0 ? even : odd)[i] = true;
  const std::size_t by_even = lowest(times, even),
                    by_odd = draws > 1 ? lowest(times, odd) : by_even;
  std::vector<double> chosen;
  for (std::size_t i = 0; i < draws; ++i) chosen.push_back(times[even[i] ? by_odd : by_even][i]);
  return chosen;
}

}  // namespace cleave
