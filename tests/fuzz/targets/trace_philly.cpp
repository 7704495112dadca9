// Traces of the format `philly`; the workload then runs.

#include "accepted_input.hpp"
#include "fuzz.hpp"
#include "simulate/traces/philly.hpp"

namespace cleave::fuzz::trace_philly_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return run_trace(read_philly, text);
}

}  // namespace
}  // namespace cleave::fuzz::trace_philly_target

CLEAVE_FUZZ_TARGET(trace_philly, judged)
