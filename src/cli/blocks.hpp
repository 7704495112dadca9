#pragma once
// Small pictures in text: bars and levels, of block characters or of plain ones.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::cli {

/// When answers have pictures: on terminals, or as the user says.
inline const std::vector<std::string> when_charts = {"auto", "always", "never"};
[[nodiscard]] bool wants_charts(std::string_view when);

/// A bar that fills this share of `width` columns; shares above 1 fill all of it.
[[nodiscard]] std::string bar(double share, std::size_t width, bool unicode);
/// The same in one column, from bottom to top: a blank, or one of "▁▂▃▄▅▆▇█".
[[nodiscard]] std::string level(double share, bool unicode);

}  // namespace cleave::cli
