#include "base/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/terminal_text.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

struct winsize size_of_terminal() {
  struct winsize size {};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

/// How much of a list without spaces, which is wider than a line, goes on one: up to a comma; 0
/// where nothing has to be broken, or can be.
std::size_t list_end(std::string_view word, std::size_t width) {
  if (columns_of(word) <= width) return 0;
  const std::size_t comma = word.substr(0, width).rfind(',');
  return comma == std::string_view::npos ? 0 : comma + 1;
}

bool names_utf8(std::string_view locale) {
  return locale.contains("UTF-8") || locale.contains("utf8") || locale.contains("utf-8") ||
         locale.contains("UTF8");
}

}  // namespace

std::size_t terminal_width() {
  return size_of_terminal().ws_col;
}

std::size_t terminal_height() {
  return size_of_terminal().ws_row;
}

bool shows_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
      return names_utf8(value);
  return false;
}

std::string in_locale(std::string_view text) {
  // The signs that Cleave itself writes; bars have forms of their own (cli/blocks.hpp).
  constexpr std::pair<std::string_view, std::string_view> signs[] = {{"\u2026", "~"},
                                                                     {"\u00b1", "+-"}};
  std::string shown(text);
  if (shows_unicode()) return shown;
  for (const auto& [sign, plain] : signs)
    for (std::size_t at = shown.find(sign); at != std::string::npos; at = shown.find(sign, at))
      shown.replace(at, sign.size(), plain);
  return shown;
}

std::vector<std::string> lines_of(std::string_view text, std::size_t width) {
  if (width == 0 || columns_of(text) <= width) return {std::string(text)};
  std::vector<std::string> lines;
  std::string line;
  for (std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    for (std::size_t end = list_end(word, width); end > 0; end = list_end(word, width)) {
      if (!line.empty()) lines.push_back(std::exchange(line, std::string()));
      lines.emplace_back(word.substr(0, end));
      word.remove_prefix(end);
    }
    if (!line.empty() && columns_of(line) + 1 + columns_of(word) > width) {
      lines.push_back(line);
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  return lines;
}

std::string wrapped(std::string_view text, std::size_t width) {
  constexpr std::size_t least = 20;
  if (width == 0) return std::string(text);
  std::string all;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, end - from);
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (columns_of(line) <= width || indent + least > width) {
      all += line;
    } else {
      const std::string first(indent, ' '), next(indent + 2, ' ');
      // The first line has two columns more than the others; it is not worth a rule of its own.
      const auto lines = lines_of(line.substr(indent), width - indent - 2);
      for (std::size_t i = 0; i < lines.size(); ++i)
        all.append(i == 0 ? "" : "\n").append(i == 0 ? first : next).append(lines[i]);
    }
    if (end < text.size()) all += '\n';
    from = end + 1;
  }
  return all;
}

}  // namespace cleave
