#pragma once
// Randomness with a seed: same seed, same numbers, on every machine. The engine is the standard's
// Mersenne twister, whose output the standard fixes. It does not fix the output of its
// distributions, so those are not used.

#include <cstdint>
#include <random>
#include <span>

namespace cleave {

/// Mixes 64 bits: every bit of the result depends on every bit of the input (splitmix64's
/// finalizer).
std::uint64_t mixed_bits(std::uint64_t x);

/// A number for each combination of the three, uniform in (0, 1): randomness that does not depend
/// on the order of the calls.
double uniform_of(std::uint64_t seed, std::uint64_t which, std::uint64_t draw);
/// Standard normal, in the same way.
double normal_of(std::uint64_t seed, std::uint64_t which, std::uint64_t draw);

/// A sequence of random numbers from one seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// All 64 bits.
  std::uint64_t bits() { return engine_(); }
  /// Uniform in [0, 1), with 53 random bits.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  /// Uniform in 0 .. count - 1; asserts count > 0. Unbiased: draws again where the range would
  /// wrap around.
  std::uint64_t below(std::uint64_t count);
  /// Exponential with the given mean (inverse of the distribution function).
  double exponential(double mean);
  /// Index into `weights`, each chosen in proportion to its weight; asserts a positive sum.
  std::size_t weighted(std::span<const double> weights);

 private:
  std::mt19937_64 engine_;
};

}  // namespace cleave
