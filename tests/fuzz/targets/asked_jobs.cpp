// Tables of jobs whose times are asked for.

#include "forecast/time/measured_jobs.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::asked_jobs_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  static const std::vector<std::string> features = {"batch", "slices", "whole_s"};
  return error_of(read_asked_jobs(text, "asked.csv", features));
}

}  // namespace
}  // namespace cleave::fuzz::asked_jobs_target

CLEAVE_FUZZ_TARGET(asked_jobs, judged)
