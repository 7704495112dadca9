// Traces of the format `alibaba2023`; the workload then runs.

#include "accepted_input.hpp"
#include "fuzz.hpp"
#include "simulate/traces/alibaba2023.hpp"

namespace cleave::fuzz::trace_alibaba2023_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return run_trace(read_alibaba2023, text);
}

}  // namespace
}  // namespace cleave::fuzz::trace_alibaba2023_target

CLEAVE_FUZZ_TARGET(trace_alibaba2023, judged)
