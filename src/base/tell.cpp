#include "base/tell.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/terminal.hpp"
#include "base/terminal_text.hpp"

namespace cleave {

namespace {

/// Spaces within quoted commands as another character, so that a line does not end there and the
/// command can be copied; of commands that have room on a line.
std::string with_commands_whole(std::string_view text, std::size_t width) {
  std::string whole(text);
  for (std::size_t from = whole.find('`'); from != std::string::npos;) {
    const std::size_t to = whole.find('`', from + 1);
    if (to == std::string::npos) break;
    if (columns_of(std::string_view(whole).substr(from, to - from)) + 4 < width)
      std::ranges::replace(whole.begin() + static_cast<std::ptrdiff_t>(from),
                           whole.begin() + static_cast<std::ptrdiff_t>(to), ' ', '\x01');
    from = whole.find('`', to + 1);
  }
  return whole;
}

}  // namespace

std::string told(std::string_view text, std::size_t width) {
  if (width == 0) return std::string(text);
  std::string lines = wrapped(with_commands_whole(text, width), width);
  std::ranges::replace(lines, '\x01', ' ');
  return lines;
}

void tell_text(std::string_view text) {
  struct winsize size {};
  const bool terminal =
      ::isatty(STDERR_FILENO) == 1 && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
  fmt::print(stderr, "{}", told(text, terminal ? size.ws_col : 0));
}

}  // namespace cleave
