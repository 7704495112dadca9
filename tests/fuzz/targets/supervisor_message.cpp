// What a supervisor says.

#include "runner/supervisor/supervisor_message.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::supervisor_message_target {
namespace {

bool read_input(const std::string& text) {
  const auto message = parse_message(text);
  if (!message) return false;
  const auto again = parse_message(message_text(*message));
  require(again && again->index() == message->index(), "what is written reads");
  return true;
}

}  // namespace
}  // namespace cleave::fuzz::supervisor_message_target

CLEAVE_FUZZ_TARGET(supervisor_message, counted)
