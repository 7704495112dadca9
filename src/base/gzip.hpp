#pragma once
// Text made smaller for others to read: what gunzip reads, and browsers.

#include <string>
#include <string_view>

namespace cleave {

/// As small as it gets, without a name or a time: same text, same bytes. Empty where memory has run
/// out.
[[nodiscard]] std::string gzipped(std::string_view text);

}  // namespace cleave
