#include "model/claim.hpp"

#include <algorithm>

namespace cleave {

bool is_claim_key(std::string_view text) {
  const auto fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:-").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= longest_claim_key && std::ranges::all_of(text, fine);
}

}  // namespace cleave
