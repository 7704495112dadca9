// What a supervisor is to start.

#include "runner/launch.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::launch_target {
namespace {

bool read_input(const std::string& text) {
  const auto launch = parse_launch(text, "launch");
  if (!launch) return false;
  require(check_launch(*launch, "launch").has_value(), "what is read passes the check");
  require(parse_launch(launch_text(*launch), "again").has_value(), "what is written reads");
  return true;
}

}  // namespace
}  // namespace cleave::fuzz::launch_target

CLEAVE_FUZZ_TARGET(launch, counted)
