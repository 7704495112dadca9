// Fleets in short, such as 4xA100-40GB.

#include "base/text.hpp"
#include "fuzz.hpp"
#include "model/fleet_file.hpp"

namespace cleave::fuzz::fleet_in_short_target {
namespace {

/// A count of millions is allowed but slow to build: those are left to the benchmarks.
bool is_large(const std::string& text) {
  if (text.size() > 60) return true;
  for (const std::string_view part : split(text, ','))
    if (parse_integer(part.substr(0, part.find('x'))).value_or(0) > 1000) return true;
  return false;
}

std::optional<Error> read_input(const std::string& text) {
  if (is_large(text)) return std::nullopt;
  return error_of(parse_fleet_in_short(text, {}));
}

}  // namespace
}  // namespace cleave::fuzz::fleet_in_short_target

CLEAVE_FUZZ_TARGET(fleet_in_short, judged)
