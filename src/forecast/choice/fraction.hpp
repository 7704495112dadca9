#pragma once
// Exact arithmetic for answers that are given as fractions: sums, products and quotients of the
// decimals of an input, in 128 bits. A result that does not fit is lost, and so is everything
// computed from it: callers ask at the end, and then refuse the input or compute with doubles.

#include <cstdint>
#include <limits>
#include <optional>

#include "base/ratio.hpp"

namespace cleave {

__extension__ typedef __int128 Wide;

/// An exact number, or the fact that it was lost.
class Fraction {
 public:
  Fraction() = default;
  explicit Fraction(int whole) : numerator_(whole) {}
  explicit Fraction(Ratio ratio)
      : numerator_(ratio.numerator()), denominator_(ratio.denominator()) {}

  /// Empty when it is lost or does not fit into 64 bits.
  [[nodiscard]] std::optional<Ratio> ratio() const {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if (lost_ || numerator_ > most || numerator_ < -most || denominator_ > most)
      return std::nullopt;
    return Ratio(static_cast<std::int64_t>(numerator_), static_cast<std::int64_t>(denominator_));
  }

  friend Fraction operator+(const Fraction& a, const Fraction& b) { return sum(a, b, 1); }
  friend Fraction operator-(const Fraction& a, const Fraction& b) { return sum(a, b, -1); }
  friend Fraction operator*(const Fraction& a, const Fraction& b) {
    bool lost = a.lost_ || b.lost_;
    const Wide numerator = product(a.numerator_, b.numerator_, lost);
    return {numerator, product(a.denominator_, b.denominator_, lost), lost};
  }
  /// Division by zero gives a lost number.
  friend Fraction operator/(const Fraction& a, const Fraction& b) {
    if (b.numerator_ == 0) return {0, 1, true};
    const Wide sign = b.numerator_ < 0 ? -1 : 1;
    return a * Fraction(sign * b.denominator_, sign * b.numerator_, b.lost_);
  }
  /// For numbers that fit into 64 bits; false when the difference is lost.
  friend bool operator<(const Fraction& a, const Fraction& b) {
    const Fraction difference = a - b;
    return !difference.lost_ && difference.numerator_ < 0;
  }
  friend bool clearly_greater(const Fraction& a, const Fraction& b) { return b < a; }

 private:
  Fraction(Wide numerator, Wide denominator, bool lost)
      : numerator_(lost ? 0 : numerator), denominator_(lost ? 1 : denominator), lost_(lost) {
    Wide a = numerator_ < 0 ? -numerator_ : numerator_, b = denominator_;
    while (b != 0) {
      const Wide rest = a % b;
      a = b;
      b = rest;
    }
    numerator_ /= a;
    denominator_ /= a;
  }
  static Wide product(Wide a, Wide b, bool& lost) {
    Wide result = 0;
    if (__builtin_mul_overflow(a, b, &result)) lost = true;
    return result;
  }
  static Fraction sum(const Fraction& a, const Fraction& b, int sign) {
    bool lost = a.lost_ || b.lost_;
    const Wide left = product(a.numerator_, b.denominator_, lost);
    const Wide right = product(sign * b.numerator_, a.denominator_, lost);
    Wide numerator = 0;
    if (__builtin_add_overflow(left, right, &numerator)) lost = true;
    return {numerator, product(a.denominator_, b.denominator_, lost), lost};
  }

  Wide numerator_ = 0, denominator_ = 1;
  bool lost_ = false;
};

}  // namespace cleave
