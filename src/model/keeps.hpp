#pragma once
// What a job keeps of its work when its process is moved, stopped or lost: the value of `progress`
// in a workload and in a submission.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cleave {

enum class Keeps : std::uint8_t {
  unsaid,
  stateless,   // a server: what it has served stays served, and a replica may take over
  checkpoint,  // what its last checkpoint holds; one is written when it is moved or stopped
  nothing,     // it begins again
};

/// By value; `unsaid` has no word.
inline constexpr std::array<std::string_view, 4> words_of_keeps = {"", "stateless", "checkpoint",
                                                                   "none"};

/// The word in `progress`.
constexpr std::string_view name(Keeps keeps) {
  return words_of_keeps[static_cast<std::size_t>(keeps)];
}
/// Empty for what is no such word.
constexpr std::optional<Keeps> parse_keeps(std::string_view word) {
  for (std::size_t i = 1; i < words_of_keeps.size(); ++i)
    if (words_of_keeps[i] == word) return static_cast<Keeps>(i);
  return std::nullopt;
}

}  // namespace cleave
