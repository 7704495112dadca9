#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/format.hpp"
#include "base/terminal_text.hpp"

namespace cleave {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

std::string lowercase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::string any_of(std::span<const std::string> words) {
  if (words.empty()) return "none";
  if (words.size() == 1) return words.front();
  return fmt::format("{} or {}", fmt::join(words.first(words.size() - 1), ", "), words.back());
}

namespace {

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string counted(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::optional<double> parse_number(std::string_view text) {
  const auto number = parse_whole<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

Result<MiB> parse_size(std::string_view text) {
  const auto refuse = [&] {
    return fail(ErrorKind::bad_input, "", fmt::format("'{}' is not a size", shown(text)),
                "write a number of MiB, or a number with KiB, MiB or GiB behind it, like 9GiB");
  };
  struct Unit {
    std::string_view suffix;
    double mib;
  };
  constexpr Unit units[] = {{"KiB", 1.0 / 1024}, {"MiB", 1}, {"GiB", 1024}, {"", 1}};
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.suffix)) continue;
    const auto number = parse_number(trimmed(text.substr(0, text.size() - unit.suffix.size())));
    if (!number || *number < 0 || *number * unit.mib > 1e12) return refuse();
    return MiB{static_cast<std::int64_t>(std::ceil(*number * unit.mib))};
  }
  return refuse();
}

namespace {

/// The number of letters to add, drop, replace or swap (optimal string alignment distance).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(above, row);
  }
  return above.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  if (word.size() > 100) return std::nullopt;
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(lowercase(word), lowercase(candidate));
    if (best == nullptr || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  // Up to a third of wrong letters is a typing error; more is another word.
  if (best == nullptr || best_distance * 3 > std::max(word.size(), best->size()))
    return std::nullopt;
  return *best;
}

std::string suggestion(std::string_view word, std::span<const std::string> known) {
  // They may come from a file.
  if (const auto meant = nearest(word, known))
    return fmt::format("did you mean '{}'?", shown(*meant));
  if (known.empty()) return "";
  std::vector<std::string> words;
  for (const std::string& each : known) words.push_back(shown(each));
  return fmt::format("one of: {}", fmt::join(words, ", "));
}

bool valid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t more = lead < 0x80       ? 0
                             : lead >> 5 == 6  ? 1
                             : lead >> 4 == 14 ? 2
                             : lead >> 3 == 30 ? 3
                                               : 4;
    if (more == 4 || i + more >= text.size()) return false;
    std::uint32_t point = more == 0 ? lead : lead & (0x3fU >> more);
    for (std::size_t k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if (next >> 6 != 2) return false;
      point = point << 6 | (next & 0x3fU);
    }
    constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
      return false;
    i += more + 1;
  }
  return true;
}

bool fit_for_a_name(std::string_view text) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return !text.empty() && std::ranges::none_of(text, control);
}

std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

/// Not control characters alone: whatever visible() writes out.
std::string shown(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return visible(text);
  // Not in the middle of a character, which has four bytes at most.
  for (int more = 0; more < 3 && longest > 0 && (text[longest] & 0xc0) == 0x80; ++more) --longest;
  return visible(text.substr(0, longest)) + "...";
}

}  // namespace cleave
