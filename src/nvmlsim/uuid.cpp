#include "nvmlsim/uuid.hpp"

#include <algorithm>

#include "base/random.hpp"

namespace cleave::sim {

namespace {

constexpr std::string_view digits = "0123456789abcdef";

constexpr bool dash_before(int digit) {
  return digit == 8 || digit == 12 || digit == 16 || digit == 20;
}

}  // namespace

Uuid make_uuid(std::uint64_t seed, std::uint64_t which) {
  Uuid uuid{mixed_bits(mixed_bits(seed) ^ which), mixed_bits(mixed_bits(seed + 1) ^ which)};
  uuid.high = (uuid.high & ~0xf000ULL) | 0x4000;             // version 4: random
  uuid.low = (uuid.low & ~(0xc0ULL << 56)) | 0x80ULL << 56;  // the usual variant
  return uuid;
}

std::array<char, uuid_text_size + 1> uuid_text(std::string_view prefix, const Uuid& uuid) {
  std::array<char, uuid_text_size + 1> text{};
  char* at = std::copy_n(prefix.begin(), 4, text.begin());
  for (int digit = 0; digit < 32; ++digit) {
    if (dash_before(digit)) *at++ = '-';
    const std::uint64_t half = digit < 16 ? uuid.high : uuid.low;
    *at++ = digits[half >> (60 - digit % 16 * 4) & 15U];
  }
  return text;
}

std::optional<Uuid> parse_uuid(std::string_view prefix, std::string_view text) {
  if (text.size() != uuid_text_size || !text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  Uuid uuid;
  for (int digit = 0; digit < 32; ++digit) {
    if (dash_before(digit)) {
      if (text.front() != '-') return std::nullopt;
      text.remove_prefix(1);
    }
    const char lower = text.front() >= 'A' && text.front() <= 'F'
                           ? static_cast<char>(text.front() + 32)
                           : text.front();
    const auto value = digits.find(lower);
    if (value == std::string_view::npos) return std::nullopt;
    text.remove_prefix(1);
    std::uint64_t& half = digit < 16 ? uuid.high : uuid.low;
    half = half << 4 | value;
  }
  return uuid;
}

}  // namespace cleave::sim
