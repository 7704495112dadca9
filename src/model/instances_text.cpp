#include "model/instances_text.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

Result<StatedInstances> parse_instances(std::string_view text, const std::string& place) {
  const std::size_t x = text.find('x');
  const auto places = parse_integer(text.substr(0, x));
  if (!places || (x != std::string_view::npos && x + 1 == text.size()))
    return fail(ErrorKind::bad_input, place,
                fmt::format("'{}' does not say how many instances of which profile", shown(text)),
                "write COUNTxPROFILE, such as 4x1g.5gb");
  if (*places < 1 || *places > most_places)
    return fail(ErrorKind::bad_input, place, fmt::format("{} instances are not possible", *places),
                fmt::format("a job has from 1 to {}", most_places));
  if (x == std::string_view::npos)
    return fail(ErrorKind::bad_input, place, "the size of the instances is missing",
                "write COUNTxPROFILE, such as 4x1g.5gb, or name their size beside the number");
  return StatedInstances{static_cast<std::uint32_t>(*places), std::string(text.substr(x + 1))};
}

std::optional<Together> parse_together(std::string_view word) {
  const auto known = std::ranges::find(words_of_together, word);
  if (known == words_of_together.end()) return std::nullopt;
  return static_cast<Together>(known - words_of_together.begin());
}

}  // namespace cleave
