// JSON of any kind.

#include "base/json.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::json_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return error_of(parse_json(text, "x"));
}

}  // namespace
}  // namespace cleave::fuzz::json_target

CLEAVE_FUZZ_TARGET(json, judged)
