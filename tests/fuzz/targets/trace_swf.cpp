// Traces of the format `swf`; the workload then runs.

#include "accepted_input.hpp"
#include "fuzz.hpp"
#include "simulate/traces/swf.hpp"

namespace cleave::fuzz::trace_swf_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return run_trace(read_swf, text);
}

}  // namespace
}  // namespace cleave::fuzz::trace_swf_target

CLEAVE_FUZZ_TARGET(trace_swf, judged)
