#pragma once
// Arithmetic on sizes from untrusted input: on overflow the result is the largest number, which
// then fails every limit.

#include <cstdint>

namespace cleave {

constexpr std::uint64_t too_much = UINT64_MAX;

/// A count that a file states; one below zero counts as none.
constexpr std::uint64_t whole(std::int64_t number) {
  return number < 0 ? 0 : static_cast<std::uint64_t>(number);
}

constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > too_much - b ? too_much : a + b;
}

constexpr std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > too_much / b ? too_much : a * b;
}

template <class... More>
constexpr std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b, std::uint64_t c,
                                            More... more) {
  return saturating_multiply(saturating_multiply(a, b), c, more...);
}

}  // namespace cleave
