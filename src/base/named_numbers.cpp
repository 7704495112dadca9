#include "base/named_numbers.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

Result<std::vector<NamedNumber>> named_numbers(std::string_view text, const std::string& place) {
  std::vector<NamedNumber> all;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const auto number =
        equals == std::string_view::npos ? std::nullopt : parse_number(part.substr(equals + 1));
    if (!number || equals == 0 || *number < 0)
      return fail(ErrorKind::bad_input, place, fmt::format("'{}' is not NAME=NUMBER", shown(part)),
                  "several are separated by commas");
    const std::string name(part.substr(0, equals));
    if (std::ranges::find(all, name, &NamedNumber::name) != all.end())
      return fail(ErrorKind::bad_input, place, fmt::format("'{}' is given twice", shown(name)));
    all.push_back({name, *number});
  }
  return all;
}

}  // namespace cleave
