#pragma once
// Secrets of the page: random words that are given out once, and the digests by which they are
// known again.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cleave {

/// SHA-256 (FIPS 180-4).
using Digest = std::array<std::uint8_t, 32>;

[[nodiscard]] Digest digest_of(std::string_view text);
/// Takes as long wherever they differ.
[[nodiscard]] bool same_digest(const Digest& a, const Digest& b);
[[nodiscard]] std::string hex_of(const Digest& digest);
/// False where it is not 64 lower-case digits.
[[nodiscard]] bool digest_of_hex(std::string_view text, Digest& digest);

/// 256 bits of the system's randomness, as 43 letters, digits, '-' and '_'.
[[nodiscard]] Result<std::string> new_secret();

/// "12.SECRET": what a client shows, with the number under which its digest is kept.
struct ShownSecret {
  std::int64_t number = 0;
  std::string_view secret;
};
/// Number 0 where it cannot be one.
[[nodiscard]] ShownSecret parse_shown_secret(std::string_view text);

}  // namespace cleave
