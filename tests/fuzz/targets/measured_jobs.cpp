// Tables of measured jobs.

#include "forecast/time/measured_jobs.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::measured_jobs_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  MeasuredJobsOptions options;
  options.group = "app";
  return error_of(read_measured_jobs(text, "measured.csv", options));
}

}  // namespace
}  // namespace cleave::fuzz::measured_jobs_target

CLEAVE_FUZZ_TARGET(measured_jobs, judged)
