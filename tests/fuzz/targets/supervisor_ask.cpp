// What the daemon asks of a supervisor.

#include "fuzz.hpp"
#include "runner/supervisor/supervisor_message.hpp"

namespace cleave::fuzz {
namespace {

bool read_input(const std::string& text) {
  return parse_ask(text).has_value();
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::counted(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
