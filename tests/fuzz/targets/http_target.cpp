// Targets of HTTP requests.

#include "daemon/http/http_types.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::http_target_target {
namespace {

bool read_input(const std::string& text) {
  return parse_http_target(text).has_value();
}

}  // namespace
}  // namespace cleave::fuzz::http_target_target

CLEAVE_FUZZ_TARGET(http_target, counted)
