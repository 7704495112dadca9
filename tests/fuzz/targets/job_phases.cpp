// Phases of simulated jobs.

#include "fuzz.hpp"
#include "runner/job_speed_text.hpp"

namespace cleave::fuzz::job_phases_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return error_of(parse_phases(text));
}

}  // namespace
}  // namespace cleave::fuzz::job_phases_target

CLEAVE_FUZZ_TARGET(job_phases, judged)
