#pragma once
// Sizes of memory for people.

#include <string>
#include <string_view>

#include "base/quantity.hpp"

namespace cleave {

/// "512 MiB", "4 GiB", "9.8 GiB"
[[nodiscard]] std::string human(MiB memory);
/// The text with its sizes in MiB like this: "4096 MiB with 2 compute slices" says "4 GiB".
[[nodiscard]] std::string with_human_sizes(std::string_view text);

}  // namespace cleave
