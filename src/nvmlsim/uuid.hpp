#pragma once
// UUIDs as NVIDIA's driver writes them: "GPU-" or "MIG-" and 32 hexadecimal digits in groups.

#include <array>
#include <optional>
#include <string_view>

#include "nvmlsim/state.hpp"

namespace cleave::sim {

/// A UUID that looks random and is the same for the same two numbers.
Uuid make_uuid(std::uint64_t seed, std::uint64_t which);

inline constexpr std::size_t uuid_text_size = 4 + 36;
/// The text of a UUID; `prefix` has four characters.
std::array<char, uuid_text_size + 1> uuid_text(std::string_view prefix, const Uuid& uuid);
/// The UUID after the prefix; empty if the text is not such a UUID.
std::optional<Uuid> parse_uuid(std::string_view prefix, std::string_view text);

}  // namespace cleave::sim
