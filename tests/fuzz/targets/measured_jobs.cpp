// Tables of measured jobs.

#include "forecast/time/measured_jobs.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz {
namespace {

std::optional<Error> read_input(const std::string& text) {
  MeasuredJobsOptions options;
  options.group = "app";
  return error_of(read_measured_jobs(text, "measured.csv", options));
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::judged(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
