#include "base/random.hpp"

#include <cassert>
#include <cmath>
#include <limits>

namespace cleave {

std::uint64_t Random::below(std::uint64_t count) {
  assert(count > 0);
  const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max() / count * count;
  std::uint64_t drawn = bits();
  while (drawn >= limit) drawn = bits();
  return drawn % count;
}

double Random::exponential(double mean) {
  return -mean * std::log1p(-uniform());
}

std::size_t Random::weighted(std::span<const double> weights) {
  double total = 0;
  for (const double weight : weights) total += weight;
  assert(total > 0);
  double left = uniform() * total;
  for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
    if (left < weights[i]) return i;
    left -= weights[i];
  }
  return weights.size() - 1;
}

}  // namespace cleave
