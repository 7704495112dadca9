// Traces of the format `swf`; the workload then runs.

#include "accepted_input.hpp"
#include "fuzz.hpp"
#include "simulate/traces/swf.hpp"

namespace cleave::fuzz {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return run_trace(read_swf, text);
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::judged(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
