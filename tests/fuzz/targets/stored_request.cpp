// Requests in the store.

#include "control/record_text.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::stored_request_target {
namespace {

bool read_input(const std::string& text) {
  return parse_request(text, "store").has_value();
}

}  // namespace
}  // namespace cleave::fuzz::stored_request_target

CLEAVE_FUZZ_TARGET(stored_request, counted)
