// Measured applications whose speeds a simulated job has.

#include "fuzz.hpp"
#include "runner/job_speed_text.hpp"

namespace cleave::fuzz::job_speeds_like_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return error_of(speeds_like(text));
}

}  // namespace
}  // namespace cleave::fuzz::job_speeds_like_target

CLEAVE_FUZZ_TARGET(job_speeds_like, judged)
