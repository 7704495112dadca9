#pragma once
// An exact fraction of two 64-bit integers, always in lowest terms with a positive denominator.
// Decimals that people write (a threshold of 0.4) are kept as the fraction they mean, so that
// comparisons never depend on binary rounding.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cleave {

/// A fraction in lowest terms, compared exactly.
class Ratio {
 public:
  constexpr Ratio() = default;
  /// Asserts `denominator` > 0.
  Ratio(std::int64_t numerator, std::int64_t denominator);

  /// A decimal such as "0.4", "1" or "-2.50"; at most nine digits after the point and nine before
  /// it.
  [[nodiscard]] static Result<Ratio> parse(std::string_view decimal);

  [[nodiscard]] std::int64_t numerator() const { return numerator_; }
  [[nodiscard]] std::int64_t denominator() const { return denominator_; }
  [[nodiscard]] double value() const {
    return static_cast<double>(numerator_) / static_cast<double>(denominator_);
  }
  /// "7/24"; whole numbers as "0/1".
  [[nodiscard]] std::string exact() const;
  /// As people write it: "0.4". The shortest decimal that reads back as the same double.
  [[nodiscard]] std::string decimal() const;

  friend bool operator==(Ratio, Ratio) = default;
  friend std::strong_ordering operator<=>(Ratio a, Ratio b);

 private:
  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 1;
};

}  // namespace cleave
