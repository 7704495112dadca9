// What a supervisor says.

#include "runner/supervisor/supervisor_message.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz {
namespace {

bool read_input(const std::string& text) {
  const auto message = parse_message(text);
  if (!message) return false;
  const auto again = parse_message(message_text(*message));
  require(again && again->index() == message->index(), "what is written reads");
  return true;
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::counted(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
