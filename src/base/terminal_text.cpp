#include "base/terminal_text.hpp"

#include <algorithm>
#include <cstdint>

#include "base/format.hpp"
#include "base/terminal.hpp"

namespace cleave {

namespace {

struct Range {
  std::uint32_t first, last;
};

/// Characters that control a terminal or mislead readers, by Unicode 15: controls, and format
/// characters for writing direction, without width, and tags. Joiners (U+200C, U+200D) are allowed,
/// since scripts and emoji need them.
constexpr Range hidden[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200b, 0x200b}, {0x200e, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

struct Character {
  std::uint32_t point = 0;
  std::size_t bytes = 0;    // 0: not UTF-8
  bool unfinished = false;  // more bytes could make it one
};

Character first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead, 1, false};
  const std::size_t more = lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : lead >> 3 == 30 ? 3 : 0;
  if (more == 0) return {};
  std::uint32_t point = lead & (0x3fU >> more);
  for (std::size_t k = 1; k <= more; ++k) {
    if (k >= text.size()) return {0, 0, true};
    const auto next = static_cast<unsigned char>(text[k]);
    if (next >> 6 != 2) return {};
    point = point << 6 | (next & 0x3fU);
  }
  constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return {};
  return {point, more + 1, false};
}

bool is_hidden(std::uint32_t point) {
  return std::ranges::any_of(
      hidden, [&](const Range& range) { return point >= range.first && point <= range.last; });
}

/// Takes one character, or one byte that is not one, from the front of `text` and appends its
/// visible form.
void take_visible(std::string_view& text, std::string& to) {
  const Character character = first_of(text);
  const std::size_t taken = std::max<std::size_t>(character.bytes, 1);
  if (character.bytes == 0 || character.point < 0x20 || character.point == 0x7f)
    to += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
  else if (is_hidden(character.point))
    to += fmt::format("\\u{{{:x}}}", character.point);
  else
    to += text.substr(0, taken);
  text.remove_prefix(taken);
}

constexpr std::size_t longest_colour = 32;

/// The length of the colour at the beginning of the text: ESC [ digits ; : m. 0 without one; npos
/// if more bytes could complete one.
std::size_t colour_length(std::string_view text) {
  if (text.size() > 1 && text[1] != '[') return 0;
  for (std::size_t i = 2; i < std::min(text.size(), longest_colour); ++i) {
    if (text[i] == 'm') return i + 1;
    if ((text[i] < '0' || text[i] > '9') && text[i] != ';' && text[i] != ':') return 0;
  }
  return text.size() >= longest_colour ? 0 : std::string_view::npos;
}

}  // namespace

std::string visible(std::string_view text) {
  std::string seen;
  seen.reserve(text.size());
  while (!text.empty()) take_visible(text, seen);
  return seen;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string cut_to(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::size_t end = 0, seen = 0;
  for (; end < text.size(); ++end)
    if ((text[end] & 0xc0) != 0x80 && seen++ == columns - 1) break;
  return fmt::format("{}{}", text.substr(0, end), in_locale("\u2026"));
}

std::string OutputFilter::pass(std::string_view bytes) {
  kept_ += bytes;
  std::string_view text = kept_;
  std::string seen;
  seen.reserve(text.size());
  while (!text.empty()) {
    const char c = text.front();
    if (c == '\n' || c == '\t' || c == '\r') {
      seen += c;
      text.remove_prefix(1);
      continue;
    }
    const std::size_t colour = c == '\x1b' ? colour_length(text) : 0;
    if (colour == std::string_view::npos || first_of(text).unfinished) break;
    if (colour == 0) {
      take_visible(text, seen);
      continue;
    }
    seen += text.substr(0, colour);
    text.remove_prefix(colour);
  }
  kept_ = std::string(text);
  return seen;
}

std::string OutputFilter::rest() {
  const std::string seen = visible(kept_);
  kept_.clear();
  return seen;
}

}  // namespace cleave
