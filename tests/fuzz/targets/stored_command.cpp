// Commands in the store.

#include "control/record_text.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::stored_command_target {
namespace {

bool read_input(const std::string& text) {
  return parse_command(text, "store").has_value();
}

}  // namespace
}  // namespace cleave::fuzz::stored_command_target

CLEAVE_FUZZ_TARGET(stored_command, counted)
