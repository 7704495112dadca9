// What the daemon asks of a supervisor.

#include "fuzz.hpp"
#include "runner/supervisor/supervisor_message.hpp"

namespace cleave::fuzz::supervisor_ask_target {
namespace {

bool read_input(const std::string& text) {
  return parse_ask(text).has_value();
}

}  // namespace
}  // namespace cleave::fuzz::supervisor_ask_target

CLEAVE_FUZZ_TARGET(supervisor_ask, counted)
