#include "base/shell_word.hpp"

#include "base/format.hpp"

namespace cleave {

std::string shell_word(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%=";
  // zsh takes "=name" for the place of a program.
  if (!word.empty() && !word.starts_with('=') &&
      word.find_first_not_of(plain) == std::string_view::npos)
    return std::string(word);
  std::string inside;
  for (const char c : word) inside += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return fmt::format("'{}'", inside);
}

}  // namespace cleave
