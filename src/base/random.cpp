#include "base/random.hpp"

#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>

namespace cleave {

std::uint64_t mixed_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

double uniform_of(std::uint64_t seed, std::uint64_t which, std::uint64_t draw) {
  const std::uint64_t bits = mixed_bits(mixed_bits(mixed_bits(seed) ^ which) ^ draw);
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-53;
}

double normal_of(std::uint64_t seed, std::uint64_t which, std::uint64_t draw) {
  const double radius = std::sqrt(-2 * std::log(uniform_of(seed, which, 2 * draw)));
  return radius * std::cos(2 * std::numbers::pi * uniform_of(seed, which, 2 * draw + 1));
}

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
