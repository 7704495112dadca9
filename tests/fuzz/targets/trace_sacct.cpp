// Traces of the format `sacct`; the workload then runs.

#include "accepted_input.hpp"
#include "fuzz.hpp"
#include "simulate/traces/sacct.hpp"

namespace cleave::fuzz::trace_sacct_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return run_trace(read_sacct, text);
}

}  // namespace
}  // namespace cleave::fuzz::trace_sacct_target

CLEAVE_FUZZ_TARGET(trace_sacct, judged)
