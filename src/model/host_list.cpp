#include "model/host_list.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

bool is_name(std::string_view word) {
  return !word.empty() && word.size() <= 255 && std::ranges::all_of(word, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_';
  });
}

std::unexpected<Error> wrong(std::string_view text, const std::string& place) {
  return fail(ErrorKind::bad_input, place, fmt::format("'{}' is not a list of nodes", shown(text)),
              "write names, or several as n[0-3,7]");
}

/// At commas that are not within brackets.
std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      words.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    } else if (text[i] == '[') {
      ++depth;
    } else if (text[i] == ']') {
      --depth;
    }
  }
  return words;
}

/// "01-03": the numbers with the width of the first.
bool expand_range(std::string_view range, std::string_view before, std::string_view after,
                  std::vector<std::string>& names) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  constexpr std::size_t most_digits = 9;
  const auto number = [](std::string_view digits) {
    const bool plain = !digits.empty() && digits.size() <= most_digits &&
                       std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    return plain ? parse_integer(digits) : std::nullopt;
  };
  const auto from = number(first), to = number(last);
  if (!from || !to || *to < *from) return false;
  if (static_cast<std::size_t>(*to - *from) >= most_hosts_in_list) return false;
  for (std::int64_t i = *from; i <= *to; ++i)
    names.push_back(fmt::format("{}{:0{}}{}", before, i, first.size(), after));
  return names.size() <= most_hosts_in_list;
}

}  // namespace

Result<std::vector<std::string>> expand_hosts(std::string_view text, const std::string& place) {
  std::vector<std::string> names;
  for (const std::string_view word : words_in(text)) {
    const std::size_t open = word.find('['), close = word.rfind(']');
    if (open == std::string_view::npos) {
      names.emplace_back(word);
    } else if (close == std::string_view::npos || close < open) {
      return wrong(text, place);
    } else {
      for (const std::string_view range : split(word.substr(open + 1, close - open - 1), ','))
        if (!expand_range(range, word.substr(0, open), word.substr(close + 1), names))
          return wrong(text, place);
    }
    if (names.size() > most_hosts_in_list || !is_name(names.back())) return wrong(text, place);
  }
  return names;
}

}  // namespace cleave
