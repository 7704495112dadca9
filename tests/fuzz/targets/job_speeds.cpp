// Speeds of simulated jobs.

#include "fuzz.hpp"
#include "runner/job_speed_text.hpp"

namespace cleave::fuzz::job_speeds_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return error_of(parse_speeds(text));
}

}  // namespace
}  // namespace cleave::fuzz::job_speeds_target

CLEAVE_FUZZ_TARGET(job_speeds, judged)
