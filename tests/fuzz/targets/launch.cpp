// What a supervisor is to start.

#include "runner/launch.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz {
namespace {

bool read_input(const std::string& text) {
  const auto launch = parse_launch(text, "launch");
  if (!launch) return false;
  require(check_launch(*launch, "launch").has_value(), "what is read passes the check");
  require(parse_launch(launch_text(*launch), "again").has_value(), "what is written reads");
  return true;
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::counted(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
