#include "base/human_size.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

std::string human(MiB memory) {
  if (memory.value < 1024) return fmt::format("{} MiB", memory.value);
  if (memory.value % 1024 == 0) return fmt::format("{} GiB", memory.value / 1024);
  return fmt::format("{:.1f} GiB", static_cast<double>(memory.value) / 1024);
}

std::string with_human_sizes(std::string_view text) {
  constexpr std::string_view unit = " MiB";
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string all;
  for (std::size_t at = text.find(unit); at != std::string_view::npos; at = text.find(unit)) {
    std::size_t first = at;
    while (first > 0 && is_digit(text[first - 1])) --first;
    const auto size = parse_integer(text.substr(first, at - first));
    const bool whole = first == 0 || text[first - 1] == ' ' || text[first - 1] == '(';
    const std::size_t end = at + unit.size();
    all += size && whole ? std::string(text.substr(0, first)) + human(MiB{*size})
                         : std::string(text.substr(0, end));
    text.remove_prefix(end);
  }
  return all += text;
}

}  // namespace cleave
