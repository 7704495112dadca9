#pragma once
// The words for how a share of a GPU becomes a profile.

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "model/request.hpp"

namespace cleave {

inline constexpr std::array<std::string_view, 2> words_of_share_rule = {"round-up", "nearest"};

constexpr std::string_view name(ShareRule rule) {
  return words_of_share_rule[static_cast<std::size_t>(rule)];
}

constexpr std::optional<ShareRule> parse_share_rule(std::string_view word) {
  const auto* const known = std::ranges::find(words_of_share_rule, word);
  if (known == words_of_share_rule.end()) return std::nullopt;
  return static_cast<ShareRule>(known - words_of_share_rule.begin());
}

}  // namespace cleave
