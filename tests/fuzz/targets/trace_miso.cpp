// Traces of the format `miso`; the workload then runs.

#include "accepted_input.hpp"
#include "fuzz.hpp"
#include "simulate/traces/miso_trace.hpp"

namespace cleave::fuzz::trace_miso_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return run_trace(read_miso, text);
}

}  // namespace
}  // namespace cleave::fuzz::trace_miso_target

CLEAVE_FUZZ_TARGET(trace_miso, judged)
