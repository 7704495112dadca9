#pragma once
// UUIDs as NVIDIA's driver writes them: "GPU-" or "MIG-" and 32 hexadecimal digits in groups.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "nvmlsim/state.hpp"

namespace cleave::sim {

/// Looks random, and is the same for the same two numbers.
Uuid make_uuid(std::uint64_t seed, std::uint64_t which);

inline constexpr std::size_t uuid_text_size = 4 + 36;
/// `prefix` of four letters.
std::array<char, uuid_text_size + 1> uuid_text(std::string_view prefix, const Uuid& uuid);
/// What stands behind the prefix, or nothing when the text is no such UUID.
std::optional<Uuid> parse_uuid(std::string_view prefix, std::string_view text);

}  // namespace cleave::sim
