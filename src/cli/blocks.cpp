#include "cli/blocks.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace cleave::cli {

namespace {

constexpr std::array<std::string_view, 9> from_left = {
    "", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589", "\u2588"};
constexpr std::array<std::string_view, 9> from_below = {
    " ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
constexpr std::string_view plain_levels = " .:-=+*#@";

/// In eighths; what is not nothing shows.
std::size_t eighths(double share, std::size_t columns) {
  if (!(share > 0)) return 0;
  const double all = std::min(share, 1.0) * 8 * static_cast<double>(columns);
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(all)));
}

}  // namespace

bool wants_charts(std::string_view when) {
  return when == "always" || (when == "auto" && ::isatty(STDOUT_FILENO) == 1);
}

std::string bar(double share, std::size_t width, bool unicode) {
  const std::size_t filled = eighths(share, width);
  if (!unicode) return std::string((filled + 7) / 8, '#');
  std::string text;
  for (std::size_t i = 0; i < filled / 8; ++i) text += from_left[8];
  return text + std::string(from_left[filled % 8]);
}

std::string level(double share, bool unicode) {
  const std::size_t filled = eighths(share, 1);
  return unicode ? std::string(from_below[filled]) : std::string(1, plain_levels[filled]);
}

}  // namespace cleave::cli
